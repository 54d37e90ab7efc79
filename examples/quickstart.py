"""Remember, find again in other words, correct, look back. Run it: python examples/quickstart.py"""

import tempfile
from datetime import UTC, datetime

import scrubjay

with tempfile.TemporaryDirectory() as home, scrubjay.open(home) as jay:
    # Without `home`, the memories stay: one file in your data directory.
    jay.remember("Prefers tabs over spaces", user="u-42", kind="preference", key="pref:indent")
    jay.remember("The payment service retries three times", project="shop", kind="fact", key="payment:retries")
    jay.remember_many(
        [
            "parse_invoice() lives in billing/parse.py",
            {"content": "Deployments are frozen on Fridays", "kind": "rule", "importance": 0.9},
        ],
        project="shop",
    )

    print("Found by meaning:")
    for hit in jay.recall("how often is a failed payment attempted again?", project="shop", limit=1):
        print(f"  {hit.score:.2f}  {hit.memory.content}  ({hit.why})")

    print("A new value for a key replaces the old one, which stays in the history:")
    jay.remember("The payment service retries five times", project="shop", kind="fact", key="payment:retries")
    for version in jay.history(key="payment:retries", project="shop"):
        print(f"  {version.state(datetime.now(UTC)):<11} {version.content}")

    print("What an agent should know before it acts:")
    context = jay.context("deploy the payment service", user="u-42", project="shop", budget=200)
    print("  " + context.text.replace("\n", "\n  "))
    print(f"  ({context.tokens} of {context.budget} tokens)")
