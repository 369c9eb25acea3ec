from pathlib import Path

import pytest

from tmas_graph.errors import SettingsError
from tmas_graph.grpo.settings_file import dump, load

CONFIG = """\
out = "run"
[data]
train = "train.parquet"
[model]
model = "m"
"""


@pytest.fixture
def config(tmp_path: Path) -> Path:
    file = tmp_path / "run.toml"
    file.write_text(CONFIG)
    return file


def test_the_command_line_wins_over_the_file(config: Path) -> None:
    config.write_text(f"{CONFIG}[loss]\nclip_high = 0.25\nclip_low = 0.1\n")
    changes = ["loss.clip_high=0.3", "model.lora.rank=4", "model.model=a/b c", "log.to=['wandb']"]
    settings = load(config, changes)
    assert (settings.loss.clip_low, settings.loss.clip_high) == (0.1, 0.3)
    assert settings.model.lora is not None
    assert settings.model.lora.rank == 4
    assert settings.model.model == "a/b c"
    assert settings.log.to == ("wandb",)


def test_the_resolved_copy_says_the_same(config: Path, tmp_path: Path) -> None:
    judge = "novelty.judge={base_url = 'http://x/v1', model = 'm', key_variable = 'KEY'}"
    changes = [judge, "model.lora=none", "server.push=disk", "sampling.template.'a b'=true"]
    settings = load(config, [*changes, "loss.dual_clip=3", "step.tokens_per_batch=9"])
    assert settings.model.lora is None
    assert settings.novelty.judge is not None
    copy = tmp_path / "copy.toml"
    copy.write_text(dump(settings))
    assert load(copy) == settings


def test_vanilla_rewards_correctness_alone_unless_told_otherwise(config: Path) -> None:
    rewards = load(config, ["preset=vanilla", "rewards.novelty_bonus=0.1"]).rewards
    assert (rewards.experience_bonus, rewards.listed_penalty) == (0.0, None)
    assert rewards.novelty_bonus == 0.1


def test_a_step_has_the_loss_and_the_temperature_of_the_run(config: Path) -> None:
    changes = ["loss.clip_high=0.5", "sampling.temperature=0.7", "sampling.max_tokens=99"]
    step = load(config, changes).step_settings
    assert (step.loss.clip_high, step.temperature, step.constant_length) == (0.5, 0.7, 99)
    assert load(config, [*changes, "mode=sft"]).step_settings.temperature == 1.0


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            "loss.clip_hihg=0.3",
            'loss.clip_hihg: there is no such setting. Did you mean "clip_high"?',
        ),
        (
            "loss.clip_high=-1",
            "loss.clip_high: -1 was given. It must be greater than or equal to 0.",
        ),
        ("steps=many", "steps: 'many' was given. It must be a valid integer"),
        ("model.lora=none", 'server.push is "lora", and full weights are trained.'),
        ("step.loss.clip_high=1", "step.loss is given. Set loss in its place."),
        ("sampling.group_size=7", "sampling: group_size is 7, and paired groups have two halves."),
        ("model.lora.rnak=3", 'model.lora.rnak: there is no such setting. Did you mean "rank"?'),
    ],
)
def test_a_wrong_setting_is_named_with_the_way_out(config: Path, change: str, message: str) -> None:
    with pytest.raises(SettingsError) as caught:
        load(config, [change])
    assert str(caught.value).startswith(f"{config}: {message}")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ("loss.clip_high", "--set: 'loss.clip_high' has no form NAME=VALUE."),
        ("steps.more=3", None),
        ("out.more=3", "--set: 'out.more': 'out' is no table."),
    ],
)
def test_a_change_of_no_form_is_refused(config: Path, change: str, message: str | None) -> None:
    with pytest.raises(SettingsError) as caught:
        load(config, [change])
    assert str(caught.value).startswith(message or f"{config}: steps: ")


def test_a_file_that_is_missing_or_torn_is_named(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match=r"none\.toml: can't be read"):
        load(tmp_path / "none.toml")
    (tmp_path / "torn.toml").write_text("[data")
    with pytest.raises(SettingsError, match=r"torn\.toml: isn't TOML"):
        load(tmp_path / "torn.toml")


def test_what_must_be_given_is_asked_for(tmp_path: Path) -> None:
    (tmp_path / "empty.toml").write_text("")
    with pytest.raises(SettingsError, match=r"empty\.toml: out: it is missing\. Give it"):
        load(tmp_path / "empty.toml")
