"""Resizing of sequences, images and volumes, and its gradient."""

from sparkdl.engine.backends.onednn.binding.api import DIFF_DST, DIFF_SRC, DST, SRC, TRAINING

NEAREST, LINEAR = 0x2FFF0, 0x2FFF1


def algorithm(op):
    return LINEAR if op.linear else NEAREST


def forward_pd(session, op, x, y):
    arguments = TRAINING, algorithm(op), None, session.of(x), session.of(y), None
    return session.describe("resampling_forward", *arguments)


def forward(session, op, x, y):
    pd = forward_pd(session, op, x, y)
    return [session.bind(pd, {SRC: session.at(x), DST: session.at(y)})], session.implementation(pd)


def backward(session, op, gy, gx):
    hint = forward_pd(session, op, gx, gy)
    arguments = algorithm(op), None, session.of(gx), session.of(gy), hint, None
    pd = session.describe("resampling_backward", *arguments)
    arrays = {DIFF_DST: session.at(gy), DIFF_SRC: session.at(gx)}
    return [session.bind(pd, arrays)], session.implementation(pd)
