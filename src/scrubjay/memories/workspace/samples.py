"""Samples: completed jobs of a small web shop, to try workspace memory out with."""

from datetime import UTC, datetime
from typing import Final

SHOP: Final = "scrubjay-sample-shop"
"""The repository that the samples belong to, unless another is named."""

SAMPLES: Final[tuple[dict[str, object], ...]] = (
    {
        "task_id": "sample-1",
        "goal": "Customers are logged out right after they log in",
        "summary": "The session cookie was dropped by the redirect after the login form. It is now set on the redirect "
        "response itself, and its path covers the whole shop.",
        "model": "small-1",
        "mode": "single",
        "tests": {"passed": 41, "failed": 0},
        "at": datetime(2026, 3, 2, 9, 30, tzinfo=UTC),
        "files": {
            "shop/session.py": '"""Sessions of customers."""\n\nfrom http.cookies import SimpleCookie\n\n\n'
            "def session_cookie(token: str) -> SimpleCookie:\n"
            '    """The cookie that keeps a customer logged in, on every page of the shop."""\n'
            '    cookie = SimpleCookie()\n    cookie["session"] = token\n    cookie["session"]["path"] = "/"\n'
            "    return cookie\n",
            "tests/test_session.py": "from shop.session import session_cookie\n\n\n"
            "def test_the_cookie_survives_the_redirect():\n"
            '    assert session_cookie("t-1")["session"]["path"] == "/"\n',
        },
    },
    {
        "task_id": "sample-2",
        "goal": "The cart page takes four seconds",
        "summary": "One query per article became one query for the whole cart. The page answers in 90 ms.",
        "model": "large-1",
        "mode": "duel",
        "tests": {"passed": 44, "failed": 0},
        "at": datetime(2026, 3, 9, 15, 5, tzinfo=UTC),
        "files": {
            "shop/cart.py": '"""The cart."""\n\nfrom collections.abc import Sequence\n\n\n'
            "def prices_of(articles: Sequence[int], prices: dict[int, int]) -> int:\n"
            '    """The sum in cents, from prices that were read together."""\n'
            "    return sum(prices[article] for article in articles)\n",
        },
    },
    {
        "task_id": "sample-3",
        "goal": "Add a nightly export of orders as CSV",
        "summary": "A command writes yesterday's orders to a file under exports/, a line each. Cancelled ones are not "
        "in it.",
        "model": "small-1",
        "mode": "single",
        "at": datetime(2026, 4, 1, 7, 0, tzinfo=UTC),
        "artifact": "exports/2026-03-31.csv",
        "files": {
            "shop/export.py": '"""Orders as CSV."""\n\nimport csv\nimport sys\n\n\n'
            "def write_orders(orders: list[dict[str, str]]) -> None:\n"
            '    """Write the orders to standard output, a line each."""\n'
            '    writer = csv.DictWriter(sys.stdout, ["number", "customer", "total"])\n'
            "    writer.writeheader()\n    writer.writerows(orders)\n",
        },
    },
    {
        "task_id": "sample-4",
        "goal": "Show prices in the customer's own currency",
        "summary": "Prices stay in cents of the shop's currency; a formatter in the browser converts and rounds them.",
        "model": "large-1",
        "mode": "duel",
        "tests": {"passed": 12, "failed": 0},
        "at": datetime(2026, 4, 18, 11, 45, tzinfo=UTC),
        "files": {
            "web/price.ts": "// Prices are cents; rates come with the page.\n"
            "export function formatPrice(cents: number, rate: number, currency: string): string {\n"
            '  return new Intl.NumberFormat(undefined, { style: "currency", currency })'
            ".format((cents * rate) / 100);\n}\n",
        },
    },
)
