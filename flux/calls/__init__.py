"""Calls declared once: what each takes, answers and needs. Server and client both follow these declarations.

`flux/calls/base.py` says what a declaration consists of, docs/adding-a-call.md how one is added. Nothing here imports
Django, numpy or the rest of this house.
"""
