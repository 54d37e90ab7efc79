"""Supporting code: known by its path or its name, and behind the source unless the question asks for it."""

import pytest

from scrubjay.model import Filter, Query
from scrubjay.read.fuse import Candidate
from scrubjay.read.rerank import rerank
from scrubjay.read.supporting import STEP, Asked, sort_of
from scrubjay.read.understand import understand
from scrubjay.testing.values import NOW, a_memory, a_scope


@pytest.mark.parametrize(
    ("path", "symbol", "sort"),
    [
        ("src/app/retry.py", "retried", ""),
        ("src/app/contest.py", "", ""),
        ("src/latest.go", "", ""),
        ("src/app/testing.py", "toy", ""),
        ("tests/unit/values.py", "a_memory", "test"),
        ("test_app.py", "", "test"),
        ("src/conftest.py", "", "test"),
        ("pkg/app_test.go", "", "test"),
        ("web/cart.test.ts", "", "test"),
        ("web/cart.spec.tsx", "", "test"),
        ("java/src/CartTest.java", "", "test"),
        ("spec/cart_spec.rb", "", "test"),
        ("src/app/suites.py", "Suite.test_it_is_kept", "test"),
        ("examples/shop.py", "", "example"),
        ("benchmarks/speed/run.py", "", "benchmark"),
        ("src/bench_fuse.py", "", "benchmark"),
    ],
)
def test_a_path_or_a_name_says_what_supports_the_source(path, symbol, sort):
    assert sort_of(path, symbol) == sort


@pytest.mark.parametrize(
    ("language", "tests"),
    [
        ("Python", "test_cart.py cart_test.py cart_tests.py tests.py test.py conftest.py testutils.py"),
        ("JavaScript", "cart.test.js cart-test.js cart_test.js cart.spec.mjs CartSpec.js test-utils.js cart.cy.js"),
        (
            "TypeScript",
            "cart.test.ts cart.spec.tsx cart.e2e-spec.ts test-utils.ts setupTests.ts cart.e2e.ts Cart.test.tsx",
        ),
        ("Java", "CartTest.java CartTests.java Test.java TestCart.java CartIT.java CartTestCase.java HTTPTest.java"),
        ("Kotlin and Scala", "CartTest.kt CartSpec.kt CartSpec.scala CartSuite.scala CartTest.scala"),
        ("C#", "UnitTest1.cs CartTests.cs CartTest.cs Tests.cs"),
        ("Go", "cart_test.go cart_internal_test.go"),
        ("Rust", "tests.rs test.rs cart_test.rs cart_tests.rs"),
        ("C and C++", "cart_test.cc cart_unittest.cc test_cart.c CartTest.cpp cart-test.cpp TestCart.cpp CartTests.m"),
        ("Ruby", "cart_spec.rb cart_test.rb test_cart.rb spec_helper.rb rails_helper.rb test_helper.rb"),
        ("PHP", "CartTest.php TestCase.php FeatureTestCase.php"),
        ("Swift and Dart", "CartTests.swift CartTest.swift cart_test.dart"),
        ("others", "cart_test.exs test_helper.exs basic.t cart.bats cart_test.clj cart_spec.lua CartSpec.hs"),
    ],
)
def test_the_tests_of_every_language_are_known_by_their_names(language, tests):
    assert [name for name in tests.split() if sort_of(f"src/{name}") != "test"] == [], language


@pytest.mark.parametrize(
    "names",
    [
        "contest.py latest.ts attestation.go testimonials.tsx fastest.rs greatest.c protest.rb Contest.java Latest.cs",
        "testing.py tester.py testament.ts request.py manifest.json testify.go Testimonial.swift attest.cpp",
        "spec.py module_spec.py KeySpec.java PodSpec.ts inspect.go aspect.rb openapi-spec.yaml pod_spec.go Spec.java",
        "ab_test.py ABTest.ts ab-test.js ABTests.java abtest.go unit.ts IT.java Unit.java habit.py AUDIT.java kit.ts",
        "test-plan.md load-test.json Suite.java Suites.scala TestUtils.md app.ts Cart.cs cart.test.snap.md",
    ],
)
def test_what_only_sounds_like_a_test_is_source(names):
    assert [name for name in names.split() if sort_of(f"src/{name}")] == []


@pytest.mark.parametrize(
    ("folder", "sort"),
    [
        *((name, "test") for name in ("Shop.Tests", "integration-tests", "unit_tests", "androidTest", "ShopUITests")),
        *((name, "test") for name in ("Tests", "src/test/java", "__tests__", "__mocks__", "cypress", "ShopTests")),
        *((name, "") for name in ("latest", "contest", "ab-test", "ABTests", "testing", "testimonials", "attest")),
    ],
)
def test_folders_say_what_is_in_them(folder, sort):
    assert sort_of(f"{folder}/cart.py") == sort


@pytest.mark.parametrize(
    ("question", "asked"),
    [
        ("where is the retry logic?", set()),
        ("the contest is over", set()),
        ("which tests cover the retries?", {"test"}),
        ("show me an example of a retry", {"example"}),
        ("is there a benchmark of retries, or a test?", {"benchmark", "test"}),
    ],
)
def test_a_question_says_what_it_asks_for(question, asked):
    assert Asked(question).sorts == asked


def found(path, relevance, kind="code"):
    memory = a_memory(f"about retries in {path}", kind=kind, data={"path": path})
    return Candidate(id=memory.id, relevance=relevance, signals={"meaning": 0.5}), memory


def ranked(text, *among):
    question = understand(Query(text=text, filter=Filter(scope=a_scope())))
    return rerank(among, question=question, now=NOW)


def paths(answers):
    return [one.memory.data["path"] for one in answers]


def test_source_comes_before_a_test_of_about_the_same_score():
    among = (found("tests/test_retry.py", 3.0), found("src/retry.py", 3.0 + STEP / 2), found("src/other.py", 1.0))
    first, second, _ = answers = ranked("where is the retry logic?", *among)
    assert paths(answers) == ["src/retry.py", "tests/test_retry.py", "src/other.py"]
    assert (first.signals["role"], second.signals["role"]) == (0.0, STEP)
    assert second.why.endswith("stands back: test code")
    assert "stands back" not in first.why


def test_a_test_that_fits_much_better_stays_first():
    among = (found("tests/test_retry.py", 3.0), found("src/retry.py", 3.0 + 2 * STEP))
    assert paths(ranked("where is the retry logic?", *among))[0] == "tests/test_retry.py"


def test_whoever_asks_for_tests_gets_them_first():
    among = (found("tests/test_retry.py", 3.0), found("src/retry.py", 3.0 + STEP / 2))
    answers = ranked("which test covers the retries?", *among)
    assert paths(answers)[0] == "tests/test_retry.py"
    assert "stands back" not in answers[0].why


def test_what_is_told_of_tests_is_no_test():
    [told] = ranked("where is the retry logic?", found("tests/test_retry.py", 3.0, kind="note"))
    assert told.signals["role"] == 0.0
