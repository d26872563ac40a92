"use strict";
// Follows a fit: the server tells of each change, and the page is read again. Charts stay as they
// are, with their zoom and their settings, and get new points; the rest is replaced. What a reader
// has opened stays open.

function placeOf(details) {
  const heading = details.closest("section")?.querySelector("h2");
  return `${heading?.textContent}: ${details.querySelector("summary")?.textContent}`;
}

function keepOpen(next) {
  const before = new Map([...document.querySelectorAll("main details")].map((one) =>
    [placeOf(one), one.open]));
  for (const one of next.querySelectorAll("main details")) {
    one.open = before.get(placeOf(one)) ?? one.open;
  }
}

async function readAgain() {
  const answer = await fetch(location.href);
  if (!answer.ok) return;
  const next = new DOMParser().parseFromString(await answer.text(), "text/html");
  DATA = JSON.parse(next.getElementById("data").textContent);
  for (const figure of next.querySelectorAll("figure.chart")) {
    const here = document.getElementById(figure.id);
    if (here) figure.replaceWith(here);
  }
  keepOpen(next);
  for (const name of ["header", "main"]) {
    document.querySelector(name).replaceWith(next.querySelector(name));
  }
  for (const figure of document.querySelectorAll("figure.chart")) drawFigure(figure);
}

let reading = Promise.resolve();
new EventSource("events").onmessage = () => { reading = reading.then(readAgain, readAgain); };
