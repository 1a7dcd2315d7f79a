"""Clusters: communities of grains and of entries, their names, and the clusters in which a grain is useful."""
