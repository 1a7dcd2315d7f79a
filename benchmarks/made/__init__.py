"""Labelled collections of our own making, to measure recall where no other data is at hand.

Everything is written here from word lists and sentence patterns; the same seed gives the same texts. The
questions avoid the words of their evidence where a person would, distractors share them on purpose.
"""
