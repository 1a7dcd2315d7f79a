"""Conduit graph as arrays: conduits, decay, signal propagation, communities, layout."""
