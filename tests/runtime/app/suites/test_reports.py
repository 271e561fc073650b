"""JUnit, what several files come to, and what cannot be read."""

import xml.etree.ElementTree as ElementTree
from pathlib import Path

from harness.suites import brought, case, put, run_tests, told

ROWS = {"result": [3, 4]}


def test_junit_holds_every_case_and_why_one_fails(tmp_path: Path) -> None:
    cases = case({"result": "<&\"\x07"}, outcomes=brought(ROWS)) + "\n  - " + case(
        {"result": {"sum": 7}}, outcomes=brought(ROWS)).partition("- ")[2].replace("one", "two")  # fmt: skip
    assert told(tmp_path, cases, "--junit", "out.xml").returncode == 1
    root = ElementTree.fromstring((tmp_path / "out.xml").read_bytes())
    (suite,) = root.findall("testsuite")
    assert (suite.get("name"), suite.get("tests"), suite.get("failures")) == ("orders.test.yaml", "2", "1")
    first, second = suite.findall("testcase")
    assert [first.get("name"), second.get("name"), second.findall("failure")] == ["one", "two", []]
    (failure,) = first.findall("failure")
    assert failure.get("message") == "the result is another one"
    assert failure.text is not None and 'expected `result`: "<&\\"\\u0007"' in failure.text


def test_a_file_that_cannot_be_read_fails_and_the_others_run(tmp_path: Path) -> None:
    put(tmp_path, case({"result": {"sum": 7}}, outcomes=brought(ROWS)))
    put(tmp_path, "cases: []\ncase: x\n", name="wrong")
    put(tmp_path, case({"status": "completed"}), playbook="workflow: [{step: start, tol: {}}]", name="broken")
    done = run_tests(tmp_path)
    assert done.returncode == 1
    assert done.stdout.splitlines()[-1].startswith("1 case passed, 2 files cannot be read in ")
    assert "wrong.test.yaml:2:1: error[NL101] unknown key `case` in a file of tests" in done.stderr
    assert "broken.yaml:4:26: error[NL101] unknown key `tol` in a step" in done.stderr


def test_wrong_usage_is_told(tmp_path: Path) -> None:
    done = run_tests(tmp_path)
    assert done.returncode == 2 and "there is no file of tests (NAME.test.yaml) in ." in done.stderr
    put(tmp_path, case({"status": "completed"}))
    done = run_tests(tmp_path, "-k", "other")
    assert done.returncode == 1 and "no case has a name with `other` in it" in done.stderr
    put(tmp_path, "cases: []\ncase: x\n", name="wrong")
    done = run_tests(tmp_path, "-k", "other")
    assert done.returncode == 1 and "NL101" in done.stderr and "no case has a name" not in done.stderr
    assert run_tests(tmp_path, "gone.test.yaml").returncode == 2


def test_the_example_of_the_page_passes(tmp_path: Path) -> None:
    page = Path(__file__).resolve().parents[4] / "schema" / "tests.md"
    example = page.read_text("utf-8").partition("```yaml\n")[2].partition("```")[0]
    assert "case: the second try brings the orders" in example
    done = told(tmp_path, example)
    assert done.returncode == 0, done.stdout + done.stderr
