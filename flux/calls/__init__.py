"""Declarations of calls: the fields, answer and capabilities of each. Server and client both follow them.

`flux/calls/base.py` explains the parts of a declaration, docs/adding-a-call.md how to add one. Nothing here imports
Django, numpy or another package of this code base.
"""
