"""Merges of byte pair encoding, learned from words and their counts."""

import heapq
from collections import Counter, defaultdict
from itertools import pairwise

ALPHABET = 1000  # most frequent characters kept


class Merges:
    """A vocabulary that grows by the most frequent pair of adjacent tokens, up to a given size.

    Among equally frequent pairs the one with smaller ids is merged first.

    Parameters
    ----------
    words : {word: int}
        Counts of words.
    first : list of str
        Tokens that are always present, with the ids 0, 1 ...
    prefix : str
        Of tokens that continue a word: "##" for WordPiece, "" for BPE.

    Attributes
    ----------
    vocabulary : {token: id}
    merges : list of (str, str)
        Pairs of tokens, in the order in which they were merged.

    References
    ----------
    Sennrich, Haddow and Birch, Neural machine translation of rare words with subword units (2016),
    algorithm 1.
    """

    def __init__(self, words, first, prefix=""):
        self.vocabulary = {token: number for number, token in enumerate(first)}
        self.prefix, self.merges = prefix, []
        letters = Counter()
        for word, count in words.items():
            for letter in word:
                letters[letter] += count
        alphabet = sorted(letter for letter, _ in letters.most_common(ALPHABET))
        known, inner = set(alphabet), {letter for word in words for letter in word[1:]}
        for token in (*alphabet, *(f"{prefix}{one}" for one in alphabet if one in inner)):
            self._id(token)
        self.counts = [*words.values()]
        self.words = [self._split([one for one in word if one in known]) for word in words]
        self.tokens = [*self.vocabulary]
        self.pairs, self.places = Counter(), defaultdict(set)
        for place, symbols in enumerate(self.words):
            for pair in pairwise(symbols):
                self.pairs[pair] += self.counts[place]
                self.places[pair].add(place)
        self.queue = [(-count, pair) for pair, count in self.pairs.items()]
        heapq.heapify(self.queue)

    def _id(self, token):
        return self.vocabulary.setdefault(token, len(self.vocabulary))

    def _split(self, letters):
        rest = (self._id(f"{self.prefix}{letter}") for letter in letters[1:])
        return [*map(self._id, letters[:1]), *rest]

    def grow(self, size, least):
        """Merges until there are `size` tokens, or no pair occurs `least` times."""
        while len(self.vocabulary) < size and self.queue:
            count, pair = heapq.heappop(self.queue)
            if -count != self.pairs[pair]:  # rarer than when it was queued
                self._queue(pair)
                continue
            if -count < max(least, 1):
                break
            self._merge(pair)

    def _queue(self, pair):
        if self.pairs[pair] > 0:
            heapq.heappush(self.queue, (-self.pairs[pair], pair))

    def _merge(self, pair):
        one, other = (self.tokens[number] for number in pair)
        token = one + other.removeprefix(self.prefix)
        new = self._id(token)
        if new == len(self.tokens):
            self.tokens.append(token)
        self.merges.append((one, other))
        changed = set()
        for place in self.places.pop(pair):
            before = self.words[place]
            after = self.words[place] = replace_pair(before, pair, new)
            self._count(before, after, place, changed)
        self.pairs.pop(pair, None)
        for each in changed:
            self._queue(each)

    def _count(self, before, after, place, changed):
        """Updates the counts of a word's pairs; adds new pairs to `changed`."""
        for pair in pairwise(before):
            self.pairs[pair] -= self.counts[place]
        for pair in pairwise(after):
            self.pairs[pair] += self.counts[place]
            self.places[pair].add(place)
        changed.update(set(pairwise(after)) - set(pairwise(before)))


def replace_pair(symbols, pair, new):
    """Returns the symbols with each occurrence of a pair replaced by one symbol, from the left."""
    found, place = [], 0
    while place < len(symbols):
        if tuple(symbols[place : place + 2]) == pair:
            found.append(new)
            place += 2
        else:
            found.append(symbols[place])
            place += 1
    return found
