"""Encoders: unit vectors of texts, computed on this machine with weights from installed packages."""
