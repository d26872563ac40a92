"use strict";
// Draws the charts of the page from the JSON in #data, as SVG, without any library.

let DATA = JSON.parse(document.getElementById("data").textContent);
const COLORS = ["#2f81f7", "#e8702a", "#2da44e", "#a371f7", "#d1242f", "#bf8700", "#1b9e9e",
  "#db61a2", "#6e7781", "#8a5a2b"];
const KINDS = {"compute": "#2da44e", "reading": "#2f81f7", "averaging": "#bf8700",
  "waiting": "#c3c9d1", "starting": "#6e7781", "python": "#a371f7", "balance": "#1b9e9e",
  "launching": "#db61a2", "evaluation, checkpoints, listeners": "#e8702a"};
const AXES = ["update", "epoch", "second"];
const SVG = "http://www.w3.org/2000/svg";
const WIDTH = 720, LEFT = 62, RIGHT = 12, TOP = 10, BOTTOM = 34;

function svg(name, attributes, parent) {
  const made = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  if (parent) parent.append(made);
  return made;
}

function html(name, properties, parent) {
  const made = Object.assign(document.createElement(name), properties);
  if (parent) parent.append(made);
  return made;
}

function format(value) {
  if (value === null || value === undefined) return "-";
  const size = Math.abs(value);
  if (size !== 0 && (size < 1e-3 || size >= 1e15)) return value.toExponential(3);
  if (Number.isInteger(value)) return String(value);
  return String(size < 1e4 ? Number(value.toPrecision(5)) : Math.round(value));
}

// ---- Scales

const powerOf = (value) => Number(value.toExponential(6).split("e")[1]);

// A number with as many digits as tell it from those a step away.
function tickText(value, step, largest) {
  if (value === 0) return "0";
  const digits = (count) => Math.min(Math.max(count, 0), 20);
  if (largest >= 1e-3 && largest < 1e15) return value.toFixed(digits(-powerOf(step)));
  return value.toExponential(digits(powerOf(value) - powerOf(step)));
}

function logTicks(low, high) {
  const all = [];
  for (let power = Math.floor(low); power <= Math.ceil(high); power++) {
    for (const digit of high - low > 3 ? [1] : [1, 2, 5]) {
      const at = power + Math.log10(digit);
      const text = format(Number(`${digit}e${power}`));
      if (at >= low - 1e-9 && at <= high + 1e-9) all.push([at, text]);
    }
  }
  if (all.length > 1) return all;
  return ticksOf(10 ** low, 10 ** high, false).map(([at, text]) => [Math.log10(at), text]);
}

function ticksOf(low, high, log) {
  if (log) return logTicks(low, high);
  const raw = (high - low) / 5 || 1;
  const unit = 10 ** Math.floor(Math.log10(raw));
  const step = unit * [1, 2, 5, 10].find((n) => n * unit >= raw * 0.999);
  const largest = Math.max(Math.abs(low), Math.abs(high));
  const all = [];
  for (let n = Math.ceil(low / step - 1e-9); n * step <= high + step * 1e-9; n++) {
    all.push([n * step, tickText(Number((n * step).toPrecision(15)), step, largest)]);
  }
  return all;
}

// Pixels of a text at most: those of as many digits of a wide font.
const widthOf = (text) => 7.7 * text.length;

function rangeOf(values) {
  let low = Infinity, high = -Infinity;
  for (const value of values) {
    if (value === null || !Number.isFinite(value)) continue;
    low = Math.min(low, value);
    high = Math.max(high, value);
  }
  if (low > high) return [0, 1];
  return low === high ? [low - (Math.abs(low) || 1) / 10, high + (Math.abs(high) || 1) / 10]
    : [low, high];
}

// ---- A chart with two axes, zoomed by dragging, by the keys + - 0 and the arrow keys

class Chart {
  constructor(figure, height = 260) {
    this.figure = figure;
    this.height = height;
    this.left = LEFT;
    this.controls = html("div", {className: "controls"}, figure);
    this.svg = svg("svg", {viewBox: `0 0 ${WIDTH} ${height}`, tabindex: "0", role: "img"}, figure);
    const name = figure.querySelector("figcaption").textContent;
    svg("title", {}, this.svg).textContent = `${name}. Keys: arrows move the cursor or the part ` +
      "that is shown, + and - zoom, 0 shows all.";
    this.layer = svg("g", {}, this.svg);
    this.readout = html("div", {className: "readout", role: "status"}, figure);
    this.zoom = null;
    this.listen();
  }

  place(value) {
    const [low, high] = this.x;
    return this.left + (WIDTH - this.left - RIGHT) * (value - low) / (high - low || 1);
  }

  heightOf(value) {
    const [low, high] = this.y;
    return this.height - BOTTOM - (this.height - TOP - BOTTOM) * (value - low) / (high - low || 1);
  }

  valueAt(pixel) {
    const [low, high] = this.x;
    return low + (high - low) * (pixel - this.left) / (WIDTH - this.left - RIGHT);
  }

  // Leaves room for texts at the left; there is less than half of the chart for them.
  widen(texts) {
    const needed = 8 + Math.max(0, ...texts.map(widthOf));
    this.left = Math.min(Math.max(LEFT, needed), WIDTH / 2);
  }

  // `names`: texts that stand at the left in place of the ticks of y.
  frame(whole, y, xLabel, {log = false, names = null} = {}) {
    this.whole = whole;
    this.x = this.zoom || whole;
    this.y = y;
    this.layer.replaceChildren();
    const levels = names ? [] : ticksOf(...y, log);
    this.widen(names || levels.map(([, text]) => text));
    const bottom = this.height - BOTTOM;
    for (const [at, text] of ticksOf(...this.x, false)) {
      const x = this.place(at);
      svg("line", {class: "grid", x1: x, x2: x, y1: TOP, y2: bottom}, this.layer);
      const middle = Math.min(x, WIDTH - widthOf(text) / 2);  // the last one is whole, too
      const place = {x: middle, y: bottom + 15, "text-anchor": "middle"};
      svg("text", place, this.layer).textContent = text;
    }
    const [left, right] = [this.left, WIDTH - RIGHT];
    for (const [at, text] of levels) {
      const level = this.heightOf(at);
      svg("line", {class: "grid", x1: left, x2: right, y1: level, y2: level}, this.layer);
      svg("text", {x: left - 6, y: level + 4, "text-anchor": "end"}, this.layer).textContent = text;
    }
    svg("line", {class: "axis", x1: left, x2: right, y1: bottom, y2: bottom}, this.layer);
    const label = {x: (left + right) / 2, y: this.height - 4, "text-anchor": "middle"};
    svg("text", label, this.layer).textContent = xLabel;
  }

  show(from, to) {
    const [low, high] = this.whole;
    const width = Math.min(to - from, high - low);
    const start = Math.min(Math.max(from, low), high - width);
    this.zoom = width >= (high - low) * 0.999 ? null : [start, start + width];
    this.draw();
  }

  at(event) {
    const box = this.svg.getBoundingClientRect();
    const x = (event.clientX - box.left) * WIDTH / box.width;
    return Math.min(Math.max(x, this.left), WIDTH - RIGHT);
  }

  listen() {
    let from = null, mark = null;
    this.svg.addEventListener("pointerdown", (event) => {
      from = this.at(event);
      mark = svg("rect", {class: "selection", x: from, y: TOP, width: 0,
        height: this.height - TOP - BOTTOM}, this.layer);
    });
    this.svg.addEventListener("pointermove", (event) => {
      const to = this.at(event);
      if (from !== null) {
        mark.setAttribute("x", Math.min(from, to));
        mark.setAttribute("width", Math.abs(to - from));
      }
      this.point(this.valueAt(to));
    });
    const end = (event) => {
      if (from === null) return;
      const to = this.at(event), ends = [from, to].sort((a, b) => a - b);
      mark.remove();
      from = null;
      if (ends[1] - ends[0] > 8) this.show(this.valueAt(ends[0]), this.valueAt(ends[1]));
    };
    this.svg.addEventListener("pointerup", end);
    this.svg.addEventListener("pointerleave", end);
    this.svg.addEventListener("dblclick", () => this.show(...this.whole));
    this.svg.addEventListener("keydown", (event) => {
      const [low, high] = this.x, width = high - low, middle = (low + high) / 2;
      const zoomed = this.zoom !== null && !event.shiftKey;
      const moves = {
        "+": () => this.show(middle - width / 4, middle + width / 4),
        "-": () => this.show(middle - width, middle + width),
        "0": () => this.show(...this.whole),
        "ArrowLeft": () => zoomed ? this.show(low - width / 4, high - width / 4) : this.step(-1),
        "ArrowRight": () => zoomed ? this.show(low + width / 4, high + width / 4) : this.step(1),
      };
      if (!(event.key in moves)) return;
      event.preventDefault();
      moves[event.key]();
    });
  }

  step(direction) {
    const [low, high] = this.x;
    const now = this.cursor === undefined ? low : this.cursor + direction * (high - low) / 50;
    this.point(Math.min(Math.max(now, low), high));
  }

  point(value) {
    this.cursor = value;
    if (!this.line || !this.line.isConnected) {
      this.line = svg("line", {class: "cursor", y1: TOP, y2: this.height - BOTTOM}, this.layer);
    }
    const x = this.place(value);
    this.line.setAttribute("x1", x);
    this.line.setAttribute("x2", x);
    this.readout.textContent = this.describe(value);
  }
}

// ---- Curves

function smoothed(values, share) {
  let mean = null, weight = 0;
  return values.map((value) => {  // a mean whose weights fall by `share` each, as TensorBoard's
    if (value === null) return null;
    mean = (mean === null ? 0 : mean * share) + (1 - share) * value;
    weight = weight * share + (1 - share);
    return mean / weight;
  });
}

class LineChart extends Chart {
  // series: [{name, points: {axis: [...]}, y, dots}]
  constructor(figure, {series, axes = AXES, smooth = false, log = false, unit = null}) {
    super(figure);
    Object.assign(this, {series, unit, share: 0, log: false, axis: axes[0], hidden: new Set()});
    if (axes.length > 1) this.addAxis(axes);
    if (log) this.addToggle("log scale", (on) => { this.log = on; });
    if (smooth) this.addSmoothing();
    this.addLegend();
    this.draw();
  }

  addAxis(axes) {
    const label = html("label", {textContent: "by "}, this.controls);
    const select = html("select", {}, label);
    for (const axis of axes) html("option", {value: axis, textContent: axis}, select);
    select.addEventListener("change", () => {
      this.axis = select.value;
      this.zoom = null;
      this.draw();
    });
  }

  addToggle(text, change) {
    const label = html("label", {}, this.controls);
    const box = html("input", {type: "checkbox"}, label);
    label.append(" ", text);
    box.addEventListener("change", () => { change(box.checked); this.draw(); });
  }

  addSmoothing() {
    const label = html("label", {textContent: "smoothing "}, this.controls);
    const slider = html("input", {type: "range", min: 0, max: 0.99, step: 0.01, value: 0}, label);
    slider.addEventListener("input", () => { this.share = Number(slider.value); this.draw(); });
  }

  addLegend() {
    this.legend ||= html("span", {}, this.controls);
    this.legend.replaceChildren();
    this.series.forEach((one, n) => {
      one.color = COLORS[n % COLORS.length];
      const button = html("button", {type: "button"}, this.legend);
      const swatch = html("span", {className: "swatch"}, button);
      swatch.style.background = one.color;
      html("bdi", {textContent: one.name}, button);
      button.setAttribute("aria-pressed", String(!this.hidden.has(one)));
      button.addEventListener("click", () => {
        if (!this.hidden.delete(one)) this.hidden.add(one);
        button.setAttribute("aria-pressed", String(!this.hidden.has(one)));
        this.draw();
      });
    });
    const reset = html("button", {type: "button", textContent: "show all"}, this.legend);
    reset.addEventListener("click", () => this.show(...this.whole));
  }

  // Draws other points; curves that were there keep their colors and what a reader has chosen.
  update({series}) {
    const known = new Map(this.series.map((one) => [one.name, one]));
    this.series = series.map((one) => Object.assign(known.get(one.name) || {}, one));
    this.addLegend();
    this.draw();
    return true;
  }

  scale(value) {
    if (value === null || !this.log) return value;
    return value > 0 ? Math.log10(value) : null;
  }

  draw() {
    const shown = this.series.filter((one) => !this.hidden.has(one));
    const whole = rangeOf(shown.flatMap((one) => one.points[this.axis]));
    const drawn = shown.map((one) => {
      const values = one.dots ? one.y : smoothed(one.y, this.share);
      return {one, x: one.points[this.axis], y: values.map((value) => this.scale(value))};
    });
    const [low, high] = this.zoom || whole;
    const seen = drawn.flatMap(({x, y}) => y.filter((_, n) => x[n] >= low && x[n] <= high));
    this.frame(whole, rangeOf(seen), this.unit || this.axis, {log: this.log});
    const clip = `clip-${this.figure.id}`;
    const [from, width] = [this.left - 4, WIDTH - this.left - RIGHT + 8];
    const box = {x: from, y: 0, width, height: this.height};
    svg("rect", box, svg("clipPath", {id: clip}, this.layer));
    const inside = svg("g", {"clip-path": `url(#${CSS.escape(clip)})`}, this.layer);
    for (const {one, x, y} of drawn) this.drawCurve(inside, one, x, y);
  }

  drawCurve(parent, one, x, y) {
    const known = (n) => n in x && x[n] !== null && y[n] !== null;
    let path = "";
    x.forEach((at, n) => {
      if (!known(n)) return;
      const pen = known(n - 1) ? "L" : "M";
      path += `${pen}${this.place(at).toFixed(1)},${this.heightOf(y[n]).toFixed(1)}`;
      if (one.dots || !(known(n - 1) || known(n + 1))) {  // a line of one point is not seen
        const dot = {cx: this.place(at), cy: this.heightOf(y[n]), r: 3, fill: one.color};
        svg("circle", dot, parent);
      }
    });
    svg("path", {class: "curve", d: path, stroke: one.color, "data-name": one.name}, parent);
  }

  describe(value) {
    const parts = this.series.filter((one) => !this.hidden.has(one)).map((one) => {
      const x = one.points[this.axis];
      let best = 0;
      x.forEach((at, n) => {
        if (Math.abs(at - value) < Math.abs(x[best] - value)) best = n;
      });
      return `${one.name}: ${format(one.y[best])} at ${format(x[best])}`;
    });
    return parts.join("; ");
  }
}

// ---- The timeline

class Timeline extends Chart {
  static kindsOf(lanes) {
    return [...new Set(lanes.flatMap((lane) => lane.spans.map((span) => span[2])))].sort();
  }

  update({lanes, restarts, reasons}) {
    const same = lanes.length === this.lanes.length &&
      String(Timeline.kindsOf(lanes)) === String(this.kinds);
    if (!same) return false;
    Object.assign(this, {lanes, restarts, reasons});
    this.draw();
    return true;
  }

  constructor(figure, {lanes, restarts, reasons}) {
    super(figure, TOP + BOTTOM + 26 * lanes.length);
    Object.assign(this, {lanes, restarts, reasons});
    this.kinds = Timeline.kindsOf(lanes);
    for (const kind of this.kinds) {
      const label = html("span", {}, this.controls);
      html("span", {className: "swatch"}, label).style.background = KINDS[kind];
      label.append(kind);
    }
    this.draw();
  }

  draw() {
    const ends = this.lanes.flatMap((lane) => lane.spans.map((span) => span[1]));
    this.frame([0, rangeOf(ends)[1]], [0, this.lanes.length], "second",
      {names: this.lanes.map((lane) => lane.name)});
    this.lanes.forEach((lane, n) => {
      const y = TOP + 26 * n + 3;
      const place = {x: this.left - 6, y: y + 14, "text-anchor": "end"};
      svg("text", place, this.layer).textContent = lane.name;
      for (const [start, end, kind, reason] of lane.spans) {
        const [from, to] = [Math.max(start, this.x[0]), Math.min(end, this.x[1])];
        if (to <= from) continue;
        const width = Math.max(this.place(to) - this.place(from), 0.3);
        const drawn = svg("rect", {x: this.place(from), y, width, height: 20, fill: KINDS[kind],
          "data-kind": kind}, this.layer);
        if (reason !== undefined) svg("title", {}, drawn).textContent = this.reasons[reason];
      }
    });
    for (const [second, text] of this.restarts) {
      if (second < this.x[0] || second > this.x[1]) continue;
      const x = this.place(second);
      const line = svg("line", {class: "restart", x1: x, x2: x, y1: 0, y2: this.height - BOTTOM,
        "data-second": second}, this.layer);
      svg("title", {}, line).textContent = text;
    }
  }

  describe(value) {
    const parts = this.lanes.map((lane) => {
      const span = lane.spans.find(([start, end]) => start <= value && value < end);
      const why = span && span[3] !== undefined ? ` (${this.reasons[span[3]]})` : "";
      return `${lane.name}: ${span ? span[2] + why : "nothing known"}`;
    });
    return `second ${format(value)}: ${parts.join("; ")}`;
  }
}

// ---- Small histograms

class Histograms {
  constructor(figure, {arrays}) {
    const grid = html("div", {className: "grid-of-small"}, figure);
    for (const one of arrays) {
      const cell = html("div", {}, grid);
      const bad = one.bad ? `, ${one.bad} not finite` : "";
      const text = `${one.name} (${one.shape.join(" x ")}): mean ${format(one.mean)}, ` +
        `deviation ${format(one.std)}${bad}`;
      const picture = svg("svg", {viewBox: "0 0 200 70", role: "img"}, cell);
      svg("title", {}, picture).textContent = text;
      const most = Math.max(1, ...one.counts), width = 200 / (one.counts.length || 1);
      one.counts.forEach((count, n) => svg("rect", {x: n * width, y: 60 - 56 * count / most,
        width: width * 0.9, height: 56 * count / most, fill: COLORS[0]}, picture));
      const [low, high] = [one.edges[0], one.edges[one.edges.length - 1]];
      svg("text", {x: 0, y: 69}, picture).textContent = format(low);
      svg("text", {x: 200, y: 69, "text-anchor": "end"}, picture).textContent = format(high);
      html("p", {textContent: text}, cell);
    }
  }

  update() {
    return false;
  }
}

// ---- A sentence in place of a chart

class Note {
  constructor(figure, {text}) {
    html("p", {textContent: text}, figure);
  }

  update() {
    return true;
  }
}

// ---- What each figure shows

function curvesOf(names, source, {dots = false} = {}) {
  const several = DATA.runs.length > 1;
  return DATA.runs.flatMap((run) => names(run[source]).map((name) => ({
    name: (several ? `${run.name}: ` : "") + (dots && name === "loss" ? "loss of evaluation" : name),
    points: run[source], y: run[source][name], dots,
  }))).filter((one) => one.y && one.y.length);
}

const figuresOf = (curves) => Object.keys(curves).filter((key) => ![...AXES, "loss"].includes(key));
const runOf = (figure) => DATA.runs.find((run) => run.name === figure.dataset.run);

const layerCurvesOf = (figure, kind) => {
  const {update, [kind]: curves} = runOf(figure).layers;
  return Object.entries(curves).map(([name, y]) => ({name, points: {update}, y, dots: true}));
};

const linesOf = (series, options) => [LineChart, {series, ...options}];

// The class of each chart, and what it draws.
const CHARTS = {
  loss: () => linesOf([...curvesOf(() => ["loss"], "rounds"),
    ...curvesOf(() => ["loss"], "evaluations", {dots: true})], {smooth: true, log: true}),
  figures: () => {
    const series = curvesOf(figuresOf, "evaluations", {dots: true});
    return series.length ? linesOf(series) : [Note, {text: "There was no evaluation."}];
  },
  throughput: () => linesOf(curvesOf(() => ["examples/s"], "rounds"), {smooth: true}),
  rate: () => linesOf(curvesOf(() => ["learning rate"], "rounds"), {log: true}),
  timeline: (figure) => [Timeline, runOf(figure).timeline],
  roc: (figure) => linesOf(runOf(figure).roc.map(({name, x, y}) => ({name,
    points: {"false positive rate": x}, y})), {axes: ["false positive rate"]}),
  weights: (figure) => [Histograms, {arrays: runOf(figure).weights}],
  gradients: (figure) => [Histograms, {arrays: runOf(figure).gradients}],
  updates: (figure) => [Histograms, {arrays: runOf(figure).updates}],
  ratios: (figure) => linesOf(layerCurvesOf(figure, "ratios"), {axes: ["update"]}),
  dead: (figure) => linesOf(layerCurvesOf(figure, "dead"), {axes: ["update"]}),
};
const drawn = new Map();  // the chart of each figure

function drawFigure(figure) {
  const [kind, content] = CHARTS[figure.dataset.kind](figure), before = drawn.get(figure);
  if (before instanceof kind && before.update(content)) return;
  figure.replaceChildren(figure.querySelector("figcaption"));
  drawn.set(figure, new kind(figure, content));
}

for (const figure of document.querySelectorAll("figure.chart")) drawFigure(figure);
