"""The graph as arrays: conduits, decay, spreading of signal, communities, layout."""
