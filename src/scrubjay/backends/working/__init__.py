"""Working memory made of others: one that goes on elsewhere while its store is away."""
