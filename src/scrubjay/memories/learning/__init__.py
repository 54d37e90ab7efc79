"""How patterns are found: plain functions and small states over executions, without a store and without a model."""
