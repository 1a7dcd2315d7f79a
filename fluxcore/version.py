"""The version of this code, the first line of the changelog's newest heading."""

VERSION = "0.8.0"
