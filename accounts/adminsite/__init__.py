"""Base of all admin pages: site, base page, actions, forms, filters and formatting."""
