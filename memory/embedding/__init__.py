"""Encoders: texts become unit vectors on this machine, from weights that came inside packages."""
