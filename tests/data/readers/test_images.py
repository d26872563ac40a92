"""Image files in folders of classes and in lists: records, their order, and errors."""

import pickle

import fsspec
import numpy as np
import pytest
from matplotlib.image import imread

from sparkdl.data import Batch, Images, Resize, Schema, Source, check_batches, files
from sparkdl.data.readers.encodings.image_codec import encode_image
from sparkdl.errors import ConfigError, DataError
from sparkdl.nn import Dense, NetworkConf, Output
from sparkdl.training.network import Network
from tests.data.systems import ObjectStore

X = np.random.default_rng(3).integers(0, 256, (12, 3, 6, 5)).astype(np.uint8)
CLASSES = ["bird", "cat", "dog"]


def write(path, content):
    with files.open(path, "wb") as file:
        file.write(content)
    return str(path)


def folder_of(root, images=X):
    """Writes image i as <i>.png into the folder of class i % 3 and returns the root."""
    for i, x in enumerate(images):
        write(f"{root}/{CLASSES[i % 3]}/{i}.png", encode_image(x))
    return str(root)


def batches(source):
    return [b for split in source.splits() for b in source.read(pickle.loads(pickle.dumps(split)))]


def read(source):
    return Batch.concat(batches(source))


@pytest.mark.parametrize("size", [None, 1, 5])
@pytest.mark.parametrize("form", ["{}", "file://{}", "memory:/{}"])
def test_a_folder_of_classes(tmp_path, form, size):
    source = Images(folder_of(form.format(tmp_path)), records_per_split=size)
    batch, numbers = read(source), [int(name[:-4].split("/")[1]) for name, _ in source.listing()]
    assert source.classes() == CLASSES
    assert sorted(numbers) == list(range(12))
    np.testing.assert_array_equal(batch.features, X[numbers])
    np.testing.assert_array_equal(batch.labels, np.array(numbers) % 3)
    assert len(set(batch.ids.tolist())) == 12
    if form.startswith("memory"):
        files.remove(form.format(tmp_path))


def test_classes_are_mixed_and_always_the_same_way(tmp_path):
    labels = [label for _, label in Images(folder_of(tmp_path)).listing()]
    assert labels != sorted(labels)
    assert labels == [label for _, label in Images(str(tmp_path)).listing()]


def test_another_reader_agrees(tmp_path):
    source = Images(folder_of(tmp_path))
    for x, (name, _) in zip(read(source).features, source.listing()):
        others = np.rint(imread(f"{tmp_path}/{name}") * 255)
        np.testing.assert_array_equal(x, others.transpose(2, 0, 1))


def test_a_list_keeps_its_order(tmp_path):
    folder_of(tmp_path / "root")
    lines = "dog/2.png 7\n\nbird/0.png 300\n/cat/1.png 0\n"
    path = write(tmp_path / "list.txt", lines.encode())
    batch = read(Images(str(tmp_path / "root"), list_file=path))
    np.testing.assert_array_equal(batch.features, X[[2, 0, 1]])
    np.testing.assert_array_equal(batch.labels, [7, 300, 0])


def test_names_in_a_list_may_hold_spaces(tmp_path):
    write(tmp_path / "a b.png", encode_image(X[0]))
    path = write(tmp_path / "list.txt", b"a b.png 3")
    np.testing.assert_array_equal(read(Images(str(tmp_path), list_file=path)).features, X[:1])


def test_a_list_may_have_several_labels_in_each_line(tmp_path):
    """Names with spaces and numbers, and without the ending of an image, stay what they are."""
    folder_of(tmp_path)
    write(tmp_path / "a.png 2 b 1.PNG", encode_image(X[5]))
    lines = b"dog/2.png 7 0 1\n\na.png 2 b 1.PNG\t-1  0 300\n/cat/1.png 0 1 +1\n"
    path = write(tmp_path / "list.txt", lines)
    source = Images(str(tmp_path), list_file=path, records_per_split=2)
    assert source.listing()[1] == ("a.png 2 b 1.PNG", (-1, 0, 300))
    batch = read(source)
    np.testing.assert_array_equal(batch.features, X[[2, 5, 1]])
    np.testing.assert_array_equal(batch.labels, [[7, 0, 1], [-1, 0, 300], [0, 1, 1]])
    assert batch.labels.dtype == np.int32
    write(tmp_path / "list.txt", b"image 7 3\n")
    assert Images(str(tmp_path), list_file=path).listing() == [("image 7", 3)]


@pytest.mark.slow
def test_a_network_trains_on_several_labels(tmp_path):
    folder_of(tmp_path)
    y = np.random.default_rng(1).integers(0, 2, (12, 3))
    lines = [f"{CLASSES[i % 3]}/{i}.png " + " ".join(map(str, row)) for i, row in enumerate(y)]
    listed = Images(str(tmp_path), list_file=write(tmp_path / "l.txt", "\n".join(lines).encode()))
    output = Output(units=3, loss="sigmoid_cross_entropy")
    conf = NetworkConf(input_shape=X.shape[1:], layers=[Dense(units=4), output], seed=1)
    one, other = Network(conf), Network(conf)
    one.fit(listed)
    other.fit((X, y))
    np.testing.assert_array_equal(one.state.params, other.state.params)


def test_channels(tmp_path):
    folder_of(tmp_path, X[:1])
    np.testing.assert_array_equal(read(Images(str(tmp_path), channels="BGR")).features, X[:1, ::-1])
    gray = read(Images(str(tmp_path), channels="gray")).features
    wanted = np.tensordot([0.299, 0.587, 0.114], X[0].astype(float), 1)  # ITU-R 601
    assert np.abs(gray[0, 0] - wanted).max() <= 1


@pytest.mark.parametrize("size, pair", [(4, (4, 4)), ([3, 8], (3, 8))])
def test_images_of_every_size_are_resized(tmp_path, size, pair):
    images = [X[0], X[1, :, :4], X[2].reshape(3, 10, 3), X[3, :, :1, :1]]
    for i, x in enumerate(images):
        write(tmp_path / f"a/{i}.png", encode_image(x))
    source = Images(str(tmp_path), size=size)
    for x, (name, _) in zip(read(source).features, source.listing()):
        wanted = Resize(size=pair)(Batch.of(images[int(name[2])][np.newaxis]))
        np.testing.assert_array_equal(x, wanted.features[0])


@pytest.mark.parametrize("kind, error", [("PNG", 0), ("BMP", 0), ("TIFF", 0), ("JPEG", 9)])
def test_kinds_of_files(tmp_path, kind, error):
    x = np.mgrid[:3, :16, :16].sum(axis=0).astype(np.uint8) * 5
    write(tmp_path / f"a/1.{kind.lower()}", encode_image(x, kind))
    write(tmp_path / "a/notes.txt", b"no image")
    [found] = read(Images(str(tmp_path))).features
    assert np.abs(found.astype(int) - x).max() <= error


def test_large_splits_come_in_pieces(tmp_path, monkeypatch):
    monkeypatch.setattr("sparkdl.data.readers.images.BYTES_PER_BATCH", 4 * X[0].nbytes)
    found = batches(Images(folder_of(tmp_path)))
    assert [len(batch) for batch in found] == [4, 4, 4]
    assert Batch.concat(found).ids.tolist() == list(range(12))


def cut(content):
    return content[: len(content) // 2]


DAMAGED = [
    (cut(encode_image(X[0])), "image cannot be decoded: "),
    (cut(encode_image(np.zeros((3, 64, 64), np.uint8), "JPEG")), "image cannot be decoded: "),
    (b"", "must be an image, got b''"),
    (b"GIF? no, text", "must be an image, got b'GIF\\? no"),
    (
        encode_image(X[0, :, :4]),
        r"must have the shape \(3, 6, 5\) of those before, got \(3, 4, 5\)",
    ),
    (encode_image(np.zeros((1, 6, 5), np.uint16)), "image must have 8 bits a channel, got mode I"),
]


@pytest.mark.parametrize("content, message", DAMAGED)
def test_a_file_that_cannot_be_used_is_named(tmp_path, content, message):
    folder_of(tmp_path, X[:2])
    write(tmp_path / "cat/9.png", content)
    path = write(tmp_path / "list.txt", b"bird/0.png 0\ncat/9.png 1\n")
    with pytest.raises(DataError, match=f"^{tmp_path}/cat/9.png: {message}"):
        read(Images(str(tmp_path), list_file=path))


def test_what_is_missing_is_named(tmp_path):
    with pytest.raises(DataError, match=f"^{tmp_path}/none: there is no such folder"):
        Images(f"{tmp_path}/none").splits()
    with pytest.raises(DataError, match=f"^{tmp_path}/none: there is no such file"):
        Images(str(tmp_path), list_file=f"{tmp_path}/none").splits()
    path = write(tmp_path / "list.txt", b"none.png 1")
    with pytest.raises(DataError, match=f"^{tmp_path}/none.png: there is no such file"):
        read(Images(str(tmp_path), list_file=path))


LISTS = [
    (b"a.png 1\nb.png\n", "line 2: must be a file and whole numbers, got 'b.png'"),
    (b"a.png 1_0\n", "line 1: must be a file and whole numbers, got 'a.png 1_0'"),
    (b"a.png 1.5\n", "line 1: must be a file and whole numbers, got 'a.png 1.5'"),
    (b"a.png 1 2.5\n", "line 1: must be a file and whole numbers, got 'a.png 1 2.5'"),
    (b"a.png 1 2\n\nb.png 3\n", "line 3: must have as many labels as those before, 2, got 'b.p"),
    (b"a.png 1 3000000000\n", "line 1: labels must be whole numbers of int32, got 3000000000"),
    (b"a.png 2147483648\n", "line 1: labels must be whole numbers of int32, got 2147483648"),
    (b"\xff 1\n", "must be UTF-8"),
    (b"\n", "must name images, but has none"),
]


@pytest.mark.parametrize("content, message", LISTS)
def test_a_list_that_is_none_is_named(tmp_path, content, message):
    path = write(tmp_path / "list.txt", content)
    with pytest.raises(DataError, match=f"^{path}.*{message}"):
        Images(str(tmp_path), list_file=path).splits()


def test_folders_without_images_are_named(tmp_path):
    with pytest.raises(DataError, match="must hold a folder for each class, but has none; a list"):
        Images(str(tmp_path)).splits()
    write(tmp_path / "a/b.txt", b"")
    with pytest.raises(DataError, match=f"^{tmp_path}: must name images, but has none"):
        Images(str(tmp_path)).splits()


HIDDEN = {  # files, classes
    "cameras' names": (["a/_MG_1.JPG", "a/2.png", "b/_c/3.png"], ["a", "b"]),
    "classes": (["_noise_/1.png", "yes/2.png"], ["_noise_", "yes"]),
    "hidden": (["a/1.png", "a/._2.png", ".b/3.png"], ["a"]),
    "no images": (["__MACOSX/a/._1.png", "_SUCCESS", "_logs/a.txt", "a/1.png"], ["a"]),
}


@pytest.mark.parametrize("case", HIDDEN)
def test_names_that_begin_with_an_underscore_are_no_less(tmp_path, case):
    """torchvision's ImageFolder finds the same images, with the same classes."""
    names, classes = HIDDEN[case]
    for name in names:
        write(tmp_path / name, encode_image(X[0]))
    source = Images(str(tmp_path))
    assert source.classes() == classes
    images = [n for n in names if n.lower().endswith(("png", "jpg")) and "/." not in f"/{n}"]
    wanted = [(name, classes.index(name.split("/")[0])) for name in images]
    assert sorted(source.listing()) == sorted(wanted)
    assert len(read(source)) == len(wanted)


@pytest.mark.parametrize("listed", [False, True])
def test_a_changed_image_is_another_source(tmp_path, listed):
    path = write(tmp_path / "a/_1.png", encode_image(X[0]))
    listing = {"list_file": write(tmp_path / "list.txt", b"a/_1.png 0")} if listed else {}
    source = Images(str(tmp_path), **listing)
    before = source.identity()
    assert None is not before == source.identity()
    write(path, encode_image(X[1]))
    assert source.identity() != before


@pytest.mark.parametrize("name", ["../a/1.png", ".a/1.png", "a/1.png"])
def test_a_list_is_another_source_once_an_image_is_changed_that_it_names(tmp_path, name):
    """Changes of other images below the folder do not matter."""
    write(tmp_path / "root/b/other.png", b"")
    path = write(tmp_path / "root" / name, encode_image(X[0]))
    listing = write(tmp_path / "list.txt", f"{name} 0\n".encode())
    source = Images(f"{tmp_path}/root", list_file=listing)
    before = source.identity()
    write(tmp_path / "root/b/other.png", b"changed")
    assert None is not before == source.identity()
    write(path, encode_image(X[1]))
    assert source.identity() != before


@pytest.fixture
def requests(monkeypatch):
    """The list of requests to counted://."""
    fsspec.register_implementation("counted", ObjectStore, clobber=True)
    for name, value in {"store": {}, "pseudo_dirs": [""], "asked": []}.items():
        monkeypatch.setattr(ObjectStore, name, value)
    return ObjectStore.asked


def test_a_listed_image_of_a_store_is_asked_for_once(requests):
    folder_of("counted://root")
    listing = "".join(f"{CLASSES[i % 3]}/{i}.png {i}\n" for i in range(12))
    write("counted://root/list", listing.encode())
    source = Images("counted://root", list_file="counted://root/list")
    requests.clear()
    assert source.identity() is not None
    heads = [f"HEAD {i}.png" for i in range(12)]
    assert sorted(requests) == sorted(["GET list", "HEAD list", *heads])
    splits = source.splits()
    requests.clear()
    np.testing.assert_array_equal(Batch.concat([*source.read(splits[0])]).features, X)
    assert sorted(requests) == sorted(f"GET {i}.png" for i in range(12))


def test_an_empty_image_of_a_store_is_named(requests):
    write("counted://root/a/1.png", b"")
    with pytest.raises(DataError, match="^counted://root/a/1.png: must be an image, got b''"):
        read(Images("counted://root"))


def test_classes_without_images_are_told(tmp_path, caplog):
    folder_of(tmp_path, X[:1])
    (tmp_path / "cat").mkdir()
    source = Images(str(tmp_path))
    assert source.listing() == [("bird/0.png", 0)]
    assert source.classes() == ["bird", "cat"]
    text = f"{tmp_path}: no images are in the folders of the classes ['cat']"
    assert [record.getMessage() for record in caplog.records] == [text]


def test_files_that_are_no_images_are_told_once(tmp_path, caplog):
    """They may be images of a kind that is not read, which went missing without a word."""
    folder_of(tmp_path, X[:2])
    for name in ("1.heic", "2.HEIC"):
        (tmp_path / "bird" / name).write_bytes(b"")
    source = Images(str(tmp_path))
    assert source.listing() == source.listing()
    [record] = caplog.records
    text = record.getMessage()
    assert text.startswith(f"{tmp_path}: files that do not end in .jpg or")
    assert text.endswith("are not read: 2, such as bird/1.heic")


def test_wrong_shapes_are_named(tmp_path):
    source, schema = Images(folder_of(tmp_path)), Schema(features=(3, 5, 6))
    with pytest.raises(DataError, match=f"^{tmp_path}, partition 0, record 0: features must have"):
        list(check_batches(source.read, source.splits()[0], schema))


@pytest.mark.slow
def test_a_network_trains_on_it(tmp_path):
    folder_of(tmp_path)
    written = {"type": "Images", "path": str(tmp_path), "size": [4, 4], "scale": 0.01}
    conf = NetworkConf(input_shape=(3, 4, 4), seed=1, layers=[Dense(units=4), Output(units=3)])
    history = Network(conf).fit(Source.from_dict(written), epochs=1)
    assert history.epochs[0].examples == 12


REFUSED = [
    ({"channels": "CMYK"}, "Images.channels must be 'RGB', 'BGR' or 'gray', got 'CMYK'"),
    ({"size": 0}, "Images.size must be an integer >= 1 or a pair of them or None, got 0"),
    ({"records_per_split": 0}, "Images.records_per_split must be an integer >= 1 or None, got 0"),
]


@pytest.mark.parametrize("options, message", REFUSED)
def test_options_are_refused(options, message):
    with pytest.raises(ConfigError, match=message):
        Images("a", **options)
