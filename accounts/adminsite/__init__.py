"""What all admin pages are made of: the site, one kind of page, actions, forms, filters and formatting."""
