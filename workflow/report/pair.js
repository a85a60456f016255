// Two systems on the queries of a dataset: who is ahead where. Elements are made by tables.js, the dataset is chosen by report.js.

const LISTED = 10; // as in beirflow/analysis/shown_queries.py, which keeps the texts of so many
const SIDE = 320, EDGE = 52; // of the scatter, and what is around it for labels

/** An element of a drawing; strings among the children become text. */
function draw(tag, attributes, ...children) {
  const element = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  element.append(...children);
  return element;
}

/** Every query of some corpora, with its scores a and b by two systems. */
function scoredQueries(parts, a, b) {
  return parts.flatMap(({ dataset: corpus, queries, scores: { ids, values, of, texts } }) => {
    const shown = new Map(queries.map(({ id, text }) => [id, text]));
    return ids.map((id, i) => ({
      corpus, id, a: values[of[a][i]], b: values[of[b][i]], shown: shown.has(id), text: shown.get(id) ?? texts[id] ?? "",
    }));
  });
}

/** A scatter of the queries: one point for all that have the same two scores, its area by how many they are. */
function drawScatter(queries, a, b, measure, label) {
  const places = new Map();
  for (const query of queries) {
    const key = `${query.a} ${query.b}`;
    if (!places.has(key)) places.set(key, { a: query.a, b: query.b, number: 0 });
    places.get(key).number += 1;
  }
  const points = [...places.values()].sort((one, other) => other.number - one.number); // small ones above large ones
  const unit = Math.min(2.4, 16 / Math.sqrt(points[0]?.number ?? 1));
  const x = (value) => EDGE + SIDE * value, y = (value) => EDGE / 2 + SIDE * (1 - value);
  const grid = [0, 0.25, 0.5, 0.75, 1].flatMap((value) => [
    draw("path", { class: "grid", d: `M${x(value)} ${y(0)}V${y(1)}M${x(0)} ${y(value)}H${x(1)}` }),
    draw("text", { x: x(value), y: y(0) + 16, "text-anchor": "middle" }, `${value}`),
    draw("text", { x: x(0) - 8, y: y(value) + 4, "text-anchor": "end" }, `${value}`),
  ]);
  const marks = points.map((point) => {
    const kind = point.a > point.b ? "first" : point.b > point.a ? "second" : "equal";
    const said = `${a} ${fixed(point.a, 4)}, ${b} ${fixed(point.b, 4)}: ${count(point.number)} ${point.number === 1 ? "query" : "queries"}`;
    const place = { class: kind, cx: x(point.a), cy: y(point.b), r: Math.max(2.4, unit * Math.sqrt(point.number)) };
    return draw("circle", place, draw("title", {}, said));
  });
  return draw("svg", { class: "scatter", viewBox: `0 0 ${SIDE + 1.5 * EDGE} ${SIDE + 1.5 * EDGE}`, role: "img", "aria-label": label },
    ...grid, draw("path", { class: "diagonal", d: `M${x(0)} ${y(0)}L${x(1)} ${y(1)}` }), ...marks,
    draw("text", { class: "second", x: x(0.02), y: y(1) - 8 }, `${b} is better`),
    draw("text", { class: "first", x: x(1), y: y(0) - 8, "text-anchor": "end" }, `${a} is better`),
    draw("text", { x: x(0.5), y: y(0) + 36, "text-anchor": "middle" }, `${measure} of ${a}`),
    draw("text", { transform: `translate(12 ${y(0.5)}) rotate(-90)`, "text-anchor": "middle" }, `${measure} of ${b}`));
}

/** The address of a query of the inspector on this page. */
const addressOf = ({ corpus, id }) => `#query=${encodeURIComponent(corpus)}/${encodeURIComponent(id)}`;

/** The queries on which the first of two scores is ahead by most; those that lead to the inspector before others that are equal. */
function listAhead(queries, system, first, second) {
  const lead = (query) => query[first] - query[second];
  const found = queries.map((query, i) => ({ query, i })).filter(({ query }) => lead(query) > 0)
    .sort((one, other) => lead(other.query) - lead(one.query) || other.query.shown - one.query.shown || one.i - other.i);
  const items = found.slice(0, LISTED).map(({ query }) => {
    const scores = `${fixed(query[first], 4)} against ${fixed(query[second], 4)}`;
    const about = make("span", { class: "about" }, make("span", { class: "id" }, query.id), ` · ${scores}`);
    const text = make("span", { class: "words", title: query.text }, query.text || query.id);
    return make("li", null, query.shown ? make("a", { href: addressOf(query) }, text) : text, about);
  });
  return make("div", null, make("h4", null, `Where ${system} is ahead by most`),
    items.length ? make("ol", null, ...items) : make("p", { class: "about" }, "Nowhere."));
}

/** What the comparison shows, for the chosen dataset and systems. */
async function showPair() {
  if (!find("first")) return; // of one system there is no pair
  const [a, b, of] = [find("first").value, find("second").value, dataset];
  const parts = await Promise.all((of.forums ?? [of.name]).map(inspectionOf));
  if (of !== dataset || a !== find("first").value || b !== find("second").value) return; // something else was chosen meanwhile
  const queries = scoredQueries(parts, a, b);
  const wins = queries.filter((query) => query.a > query.b).length, losses = queries.filter((query) => query.b > query.a).length;
  const both = queries.filter((query) => query.a === 0 && query.b === 0).length;
  const outcome = `On ${of.name}, ${a} is ahead on ${count(wins)} of ${count(queries.length)} queries and ${b} on ${count(losses)}; ` +
    `tied on ${count(queries.length - wins - losses)} (${both ? count(both) : "none"} with both 0).`;
  find("outcome").textContent = outcome;
  find("scatter").replaceChildren(drawScatter(queries, a, b, parts[0].measure, outcome));
  const shown = queries.filter((query) => query.shown).length;
  const unlisted = shown < queries.length ? [`Queries without a link are none of the ${count(shown)} whose documents are on this page.`] : [];
  find("ahead").replaceChildren(listAhead(queries, a, "a", "b"), listAhead(queries, b, "b", "a"),
    ...unlisted.map((said) => make("p", { class: "about" }, said)));
}

/** Fill the choices of the pair. */
function startPair() {
  if (!find("first")) return;
  const best = index.ranked.find((system) => system !== index.baseline);
  for (const [id, chosen] of [["first", index.baseline], ["second", best]]) {
    fillSelect(find(id), index.systems.map((system) => [system, system]));
    find(id).value = chosen;
    find(id).addEventListener("change", showPair);
    find(id).addEventListener("change", () => inspection && (showOrders(), showQueries()));
  }
}
