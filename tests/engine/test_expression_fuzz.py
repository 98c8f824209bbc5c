"""Formulas and expressions of any text: a value, or a refusal in words, and neither takes long."""

import time

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.values.formula import FormulaError
from engine.values.formula import evaluate as formula
from protocol.expressions import Unusable, evaluate, parse

VOCABULARY = (
    "i x y n nx block_x len sin exp where min max pow abs ceil_div round int float ( ) [ ] { } , : . = == != < <= "
    "+ - * / // % ** & | ^ ~ << >> @ not and or in is if else lambda for 0 1 2 3 0.5 1e308 9999999999 -1 nan inf "
    "True None 'a' __import__ \x00 é \\ # := ... j 1j"
)
WORDS = st.sampled_from(VOCABULARY.split(" "))
TEXTS = st.one_of(
    st.text(max_size=80),
    st.lists(WORDS, max_size=25).map(" ".join),
    st.lists(WORDS, max_size=40).map("".join),
    st.builds(
        lambda sign, count: sign * count + "1",
        st.sampled_from(["(", "-", "not ", "[", "1+", "2**"]),
        st.integers(1, 900),
    ),
)
SECONDS = 5.0
"""Of one text, on a machine that is busy; the usual one takes less than a millisecond."""


@settings(max_examples=500, deadline=None, derandomize=True, database=None)
@given(TEXTS, st.sampled_from(["float32", "int32", "uint8", "bool", "complex64", "bfloat16"]))
def test_a_formula(text: str, dtype: str) -> None:
    begin = time.process_time()
    try:
        found = formula(text, (3, 4), dtype)
    except (FormulaError, ValueError) as error:
        assert len(str(error)) > 10
    else:
        assert np.size(found) == 12
    assert time.process_time() - begin < SECONDS


@settings(max_examples=500, deadline=None, derandomize=True, database=None)
@given(TEXTS)
def test_an_expression(text: str) -> None:
    begin = time.process_time()
    try:
        found = evaluate(parse(text), {"x": 3, "block_x": 128, "n": 1 << 30}, {"a": 1024})
    except Unusable as error:
        assert len(str(error)) > 10
    else:
        assert isinstance(found, int | float | bool | str)
    assert time.process_time() - begin < SECONDS
