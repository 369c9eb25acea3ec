import json


def test_the_data_sets_are_listed(tmas):
    done = tmas("problems")
    assert (done.code, done.err) == (0, "")
    for name in ("gsm8k", "imo-answerbench", "aime25", "hle-math"):
        assert name in done.out
    rows = [json.loads(line) for line in tmas("problems", "--json").out.splitlines()]
    assert [row["name"] for row in rows if row["ships"]] == ["gsm8k", "imo-answerbench"]


def test_the_problems_of_one_are_shown_with_their_version(tmas):
    done = tmas("problems", "gsm8k")
    assert "gsm8k-test-0200" in done.out
    assert "200 problems · version openai/grade-school-math@3101c7d" in done.out


def test_one_problem_is_shown_whole(tmas):
    done = tmas("problems", "gsm8k", "--id", "test-0001")
    assert "Janet" in done.out
    assert "gold answer: 18" in done.out
    row = json.loads(tmas("problems", "gsm8k", "--id", "test-0001", "--json").out)

    assert (row["problem_id"], row["answer"]) == ("gsm8k-test-0001", "18")


def test_a_users_mistake_is_one_line(tmas, place):
    assert "did you mean 'gsm8k'" in tmas.mistake("problems", "gsm8")
    (place / "own.jsonl").write_text('{"id": 1, "text": "Q"}\n')
    assert "--id-key id" in tmas.mistake("problems", "own.jsonl")
    assert "--question-key text" in tmas.mistake("problems", "own.jsonl", "--id-key", "id")
    assert "1 problems" in tmas(
        "problems", "own.jsonl", "--id-key", "id", "--question-key", "text"
    ).out  # fmt: skip


def test_a_problem_of_a_data_set_is_solved_and_graded(tmas, scripted):
    scripted.change(script=lambda request, context: r"So \boxed{\frac{36}{2}}")
    done = tmas("solve", "--problem", "gsm8k:test-0001")
    assert (done.code, done.err) == (0, "")
    assert "gold: 18 · verdict: correct · cause: " in done.out
    assert "Janet" in scripted.requests[0].text
    told = json.loads(tmas("solve", "--problem", "gsm8k:test-0001", "--json").out)
    assert told["problem"]["id"] == "gsm8k-test-0001"
    assert (told["gold"], told["verdict"]) == ("18", "correct")


def test_without_an_answer_the_verdict_says_so(tmas, scripted):
    scripted.change(script=lambda request, context: "I can't.")
    told = json.loads(tmas("solve", "--problem", "gsm8k:test-0001", "--json").out)
    assert (told["answer"], told["verdict"]) == (None, "unanswered")


def test_the_judge_is_asked_of_a_runs_answer_if_it_is_on(tmas, scripted, place):
    row = {"problem_id": "a", "question": "Which n?", "answer": "all odd numbers"}
    (place / "own.jsonl").write_text(json.dumps(row))

    def script(request, context):
        return r"\boxed{yes}" if "Reference answer" in request.text else r"So \boxed{odd n}"

    scripted.change(script=script)
    arguments = ("solve", "--problem", "own.jsonl:a", "--json")
    told = json.loads(tmas(*arguments).out)
    assert (told["verdict"], told.get("judge")) == ("unsure", None)
    told = json.loads(tmas(*arguments, "--set", "judge=true").out)
    assert (told["verdict"], told["judge"]) == ("unsure", "correct")


def test_a_wrong_name_of_a_problem_is_said(tmas, scripted):
    assert "isn't NAME:ID" in tmas.mistake("solve", "--problem", "gsm8k")
    assert "no problem 'x'" in tmas.mistake("solve", "--problem", "gsm8k:x")
    for arguments in (("solve",), ("solve", "Q", "--problem", "gsm8k:test-0001")):
        assert tmas(*arguments).code == 2
    assert scripted.requests == []
