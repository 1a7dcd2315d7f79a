"""Import and export of grains and conduits."""
