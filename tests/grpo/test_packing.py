import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from tiny_models import samples

from tmas_graph.grpo.packing import bins, pack, pad, padded_bins
from tmas_graph.grpo.samples import Sample

LENGTHS = st.lists(st.integers(1, 30), max_size=40)


@given(LENGTHS, st.integers(1, 60))
def test_each_sequence_is_in_one_batch_and_batches_keep_the_budget(
    lengths: list[int], budget: int
) -> None:
    for way in (bins, padded_bins):
        made = way(lengths, budget)
        assert sorted(place for places in made for place in places) == list(range(len(lengths)))
        for places in made:
            tokens = [lengths[place] for place in places]
            size = sum(tokens) if way is bins else max(tokens) * len(tokens)
            assert size <= budget or len(places) == 1


def test_short_sequences_fill_the_gaps_that_long_ones_leave() -> None:
    assert bins([3, 7, 2, 8], 10) == [[2, 3], [0, 1]]


def test_a_packed_row_starts_anew_at_each_sequence() -> None:
    batch = pack([Sample((1, 2), (3, 4)), Sample((5,), (6,))])
    assert batch.input_ids_BT.tolist() == [[1, 2, 3, 4, 5, 6]]
    assert batch.position_ids_BT.tolist() == [[0, 1, 2, 3, 0, 1]]
    assert batch.attention_mask_BT is None
    assert batch.source_N.tolist() == [1, 2, 4]
    assert batch.targets_N.tolist() == [3, 4, 6]
    assert batch.row_N.tolist() == [0, 0, 1]


def test_what_is_left_of_a_row_is_a_sequence_of_its_own() -> None:
    given = [Sample((1,), (2,)), Sample((3, 4), (5, 6)), Sample((7,), ())]
    batch = pack(given, width=4, pad_id=9)
    assert batch.input_ids_BT.tolist() == [[3, 4, 5, 6], [1, 2, 7, 9]]
    assert batch.position_ids_BT.tolist() == [[0, 1, 2, 3], [0, 1, 0, 0]]
    assert batch.starts_R.tolist() == [4, 0, 6]
    assert batch.source_N.tolist() == [4, 1, 2]
    assert batch.targets_N.tolist() == [2, 5, 6]


def test_a_padded_batch_is_filled_at_the_end() -> None:
    batch = pad([Sample((1, 2), (3, 4)), Sample((5,), (6,))], pad_id=9)
    assert batch.input_ids_BT.tolist() == [[1, 2, 3, 4], [5, 6, 9, 9]]
    assert batch.attention_mask_BT.tolist() == [[1, 1, 1, 1], [1, 1, 0, 0]]
    assert batch.source_N.tolist() == [1, 2, 4]


@pytest.mark.parametrize("way", [pack, pad])
def test_each_source_is_the_place_before_its_target(way) -> None:
    batch = way(samples(7))
    assert torch.equal(batch.input_ids_BT.flatten()[batch.source_N + 1], batch.targets_N)


def test_masks_and_server_logprobs_go_along_and_unknown_ones_are_nan() -> None:
    known = Sample((1,), (2, 3), (-0.5, -0.25), (True, False))
    batch = pack([known, Sample((1,), (4,)), Sample((1,), ())])
    assert batch.mask_N.tolist() == [True, False, True]
    assert batch.sampler_logprobs_N[:2].tolist() == [-0.5, -0.25]
    assert batch.sampler_logprobs_N[2].isnan()


def test_a_batch_moves_as_a_whole() -> None:
    moved = pad(samples(3)).to("meta")
    assert {getattr(moved, name).device.type for name in moved.__slots__} == {"meta"}
