"""The front matter of examples."""

import hashlib
from pathlib import Path

import pytest

from protocol.arguments import Upload
from store.examples import ExampleError, load_examples, read_example

FRONT = """title = "Scale"
summary = "Multiplies."
order = 2
reference = "a * 2"
views = { a = { shown_as = "plot" } }
[[buffers]]
name = "a"
dtype = "float32"
shape = [8]
init = { kind = "arange" }
[[steps]]
kind = "launch"
config = { grid = [1], block = [8] }
arguments = [{ kind = "buffer", buffer = "a" }, { kind = "scalar", value = "2" }]
"""
CODE = "// Doubles.\n__global__ void scale(float *a, float f) { a[threadIdx.x] *= f; }\n"


def write(folder: Path, front: str = FRONT, code: str = CODE, name: str = "scale.cu") -> Path:
    path = folder / name
    path.write_text(f"/*! warpyard\n{front}*/\n\n{code}")
    return path


def test_an_example(tmp_path: Path) -> None:
    example = read_example(write(tmp_path))
    assert (example.id, example.title, example.summary, example.reference) == (
        "scale",
        "Scale",
        "Multiplies.",
        "a * 2",
    )
    request = example.payload.request
    assert request.source.text == CODE
    assert request.buffers[0].shape == (8,)
    assert request.steps[0].kind == "launch"
    assert example.payload.title == "Scale"
    assert example.payload.views["a"].shown_as == "plot"


def test_the_order(tmp_path: Path) -> None:
    write(tmp_path, FRONT.replace("order = 2", "order = 9"), name="a.cu")
    write(tmp_path, name="b.cu")
    write(tmp_path, FRONT.replace("order = 2", "order = 1.5"), name="c.cu")
    assert [example.id for example in load_examples(tmp_path)] == ["c", "b", "a"]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (("title = ", "titel = "), "scale.cu: title: a text is required"),
        (('"float32"', '"float31"'), "scale.cu: request.buffers.0.dtype: "),
        (
            ('buffer = "a"', 'buffer = "b"'),
            "scale.cu: request.steps.0.arguments.0.buffer: no buffer is called b",
        ),
        (("shape = [8]", "shape = [8"), "scale.cu: the front matter is not TOML: "),
        (("order = 2", "colour = 2"), "scale.cu: request.colour: this field is not known here"),
        (("order = 2", "order = true"), "scale.cu: order: a number is required"),
        (('value = "2"', "value = nan"), "scale.cu: "),
        (('value = "2"', "value = 2020-01-01"), "scale.cu: "),
    ],
)
def test_a_wrong_example_names_its_file_and_field(tmp_path: Path, change: tuple[str, str], message: str) -> None:
    assert change[0] in FRONT
    with pytest.raises(ExampleError) as error:
        load_examples(write(tmp_path, FRONT.replace(*change)).parent)
    assert str(error.value).startswith(message)


@pytest.mark.parametrize("text", ["", CODE, "/*! warpyard\ntitle = 1\n", "\n/*! warpyard\n*/\n"])
def test_the_front_matter_is_required(tmp_path: Path, text: str) -> None:
    (tmp_path / "x.cu").write_text(text)
    with pytest.raises(ExampleError, match=r"x\.cu: the first line must be"):
        load_examples(tmp_path)


def test_names(tmp_path: Path) -> None:
    with pytest.raises(ExampleError, match="small letters"):
        read_example(write(tmp_path, name="Big Name.cu"))
    with pytest.raises(ExampleError, match="not a folder"):
        load_examples(tmp_path / "none")


@pytest.mark.parametrize(
    "path", sorted((Path(__file__).parents[2] / "examples").glob("*.cu")), ids=lambda path: path.name
)
def test_a_source_fits_the_editor_of_a_desktop(path: Path) -> None:
    """Which shows 80 columns where the window is 1,440 pixels wide."""
    lines = read_example(path).payload.request.source.text.splitlines()
    assert [(number, line) for number, line in enumerate(lines, 1) if len(line) > 80] == []


FILE = FRONT.replace('init = { kind = "arange" }', 'init = { kind = "file", name = "ramp.npy" }')


def test_a_file_that_an_example_ships_is_an_upload(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "ramp.npy").write_bytes(b"as it is")
    example = read_example(write(tmp_path, FILE))
    digest = hashlib.sha256(b"as it is").hexdigest()
    assert example.payload.request.buffers[0].init == Upload(digest=digest)
    assert example.files == ((digest, tmp_path / "data" / "ramp.npy"),)
    assert read_example(write(tmp_path)).files == ()


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ('name = "gone.npy"', "scale.cu: request.buffers.0.init: data/gone.npy: No such file"),
        ('name = "../ramp.npy"', "scale.cu: request.buffers.0.init: a file is"),
        ('name = "ramp.txt"', "scale.cu: request.buffers.0.init: a file is"),
        ("name = 7", "scale.cu: request.buffers.0.init: a file is"),
        ('name = "ramp.npy", digest = "0"', "scale.cu: request.buffers.0.init: a file is"),
    ],
)
def test_a_file_that_is_not_there_or_misnamed(tmp_path: Path, given: str, message: str) -> None:
    with pytest.raises(ExampleError) as error:
        read_example(write(tmp_path, FILE.replace('name = "ramp.npy"', given)))
    assert str(error.value).startswith(message)
