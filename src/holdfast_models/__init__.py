"""Weights of the models that Holdfast uses on this machine, one folder per model with its model card.

The distribution ``holdfast-models`` contains this package. It has no code: ``holdfast.models.local`` finds and verifies the files.
"""
