// The page's behaviour: one dataset and its queries. Elements and tables are made by tables.js, two systems compared by pair.js.

const SNIPPET = 240; // characters of a document that are shown at first, as in beirflow/analysis/document_scan.py
const BATCH = 20; // queries that are put on the page at a time
const FEW = 4; // systems whose scores fit beside a query

const index = JSON.parse(find("index").textContent);
let dataset; // the entry of `index` that is shown
let inspection; // its queries, or null for a dataset of forums
let matches; // by system what its hits match, or null where that is not known
const unpacked = new Map();

/** A promise of what a block of the page holds, unpacked when it is first asked for; of null if there is none. */
function contentOf(attribute, name) {
  const selector = `script[${attribute}="${CSS.escape(name)}"]`;
  if (!unpacked.has(selector)) {
    const block = document.querySelector(selector);
    unpacked.set(selector, block && unpack(block.textContent));
  }
  return unpacked.get(selector);
}

/** A promise of the queries of a dataset; of null if there are none. */
const inspectionOf = (name) => contentOf("data-dataset", name);

/** A promise of what the hits of each system match on a dataset. */
async function matchesOf(systems, name) {
  const found = await Promise.all(systems.map((system) => contentOf("data-matches", `${system}/${name}`)));
  return Object.fromEntries(systems.map((system, i) => [system, found[i]]));
}

/** What was JSON, compressed with gzip and written in base64. */
function unpack(text) {
  const bytes = Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
  return new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"))).json();
}

function fillSelect(select, options, group = select) {
  for (const [value, label] of options) group.append(make("option", { value }, label));
  if (group !== select) select.append(group);
}

function showMeasures() {
  const chosen = find("measure").value;
  const names = Object.keys(dataset.measures[index.systems[0]]);
  const cutoffs = [...new Set(names.map((name) => Number(name.split("@")[1])))].sort((a, b) => a - b);
  const kinds = [...new Set(names.map((name) => name.split("@")[0]))].filter((kind) => chosen === "" || kind === chosen);
  const rows = kinds.flatMap((kind) => index.ranked.map((system) => [kind, system, ...cutoffs.map((cutoff) => {
    const values = index.systems.map((other) => dataset.measures[other][`${kind}@${cutoff}`] ?? null);
    const value = values[index.systems.indexOf(system)];
    return { value, best: value !== null && kind !== "Hole" && values.length > 1 && value === Math.max(...values) };
  })]));
  const columns = [{ label: "Measure" }, { label: "System" }, ...cutoffs.map((k) => ({ label: `@${k}`, decimals: 4 }))];
  find("measures").replaceChildren(makeTable("measures-caption", `Means over the queries of ${dataset.name}`, columns, rows));
  const most = Object.entries(dataset.most).map(([system, documents]) => `${system} ${count(documents)}`).join(", ");
  if (most) find("measures").append(make("p", null, `Documents at which the results of a system end: ${most}. Measures at larger cutoffs say that, too.`));
}

function showLengths() {
  const place = find("lengths");
  place.replaceChildren();
  if (!inspection?.lengths) return;
  const { unit, all, relevant, retrieved } = inspection.lengths;
  const groups = [["all documents", all], ["relevant documents", relevant]];
  for (const [system, histogram] of Object.entries(retrieved)) groups.push([`retrieved by ${system}`, histogram]);
  const percents = ["5", "25", "50", "75", "95"];
  const columns = [{ label: "Documents" }, { label: "Number", decimals: 0 }, { label: "Mean", decimals: 1 }];
  for (const percent of percents) columns.push({ label: `${percent} %`, decimals: 1 });
  const rows = groups.filter(([, histogram]) => histogram).map(([label, { n, mean, quantiles }]) =>
    [label, n, mean ?? null, ...percents.map((percent) => quantiles?.[percent] ?? null)]);
  const caption = `Mean and quantiles, in ${unit}`;
  const title = make("summary", null, make("h3", null, "Lengths of documents"));
  place.append(make("details", { class: "part" }, title, makeTable("lengths-caption", caption, columns, rows)));
}

// ---------------------------------------------------------------- its queries

const mean = (query) => inspection.systems.reduce((sum, system) => sum + query.values[system], 0) / inspection.systems.length;
const spread = (query) => {
  const values = inspection.systems.map((system) => query.values[system]);
  return Math.max(...values) - Math.min(...values);
};

/** By label of a group, the orders in it: [label, what a query is sorted by, smallest first]. */
function orders() {
  const { measure, systems } = inspection;
  if (systems.length === 1) return { [measure]: [["lowest first", mean], ["highest first", (query) => -mean(query)]] };
  const [a, b] = [find("first").value, find("second").value]; // of “Two systems”
  return {
    [measure]: [
      ["lowest mean of the systems", mean],
      ["highest mean of the systems", (query) => -mean(query)],
      ...systems.map((system) => [`lowest of ${system}`, (query) => query.values[system]]),
    ],
    "Where systems differ most": [
      ["any two systems", (query) => -spread(query)],
      ...(a === b ? [] : [[`${a} and ${b}`, (query) => -Math.abs(query.values[a] - query.values[b])]]),
    ],
  };
}

/** Everything of a query that the search looks at, in lower case. */
function searched(query) {
  const hits = Object.values(query.hits).flat();
  return [query.id, query.text, ...[...query.judged, ...hits].map((document) => document.doc_id)].join("\n").toLowerCase();
}

function showGrade(grade) {
  if (grade === null) return make("span", { class: "grade unjudged" }, "unjudged");
  return make("span", { class: grade > 0 ? "grade relevant" : "grade" }, grade > 0 ? `relevant, grade ${grade}` : `not relevant, grade ${grade}`);
}

/** A text in which the words that have a term of a query are marked. */
function marked(text, query) {
  const words = new Set(query.words);
  return text.split(/([\p{L}\p{N}\p{M}]+)/u).map((part) => (words.has(part.toLowerCase()) ? make("mark", null, part) : part));
}

/** Title and beginning of a document, and what more of it the page holds. */
function showText(id, query) {
  const found = inspection.texts[id];
  if (!found || !(found.title || found.text)) return make("div", { class: "snippet" }, found ? "(no text)" : "(not in the corpus)");
  const { title, text } = found;
  const end = text.length > SNIPPET ? text.lastIndexOf(" ", SNIPPET) + 1 || SNIPPET : text.length;
  const rest = end < text.length ? [make("details", null, make("summary", null, "more"), ...marked(text.slice(end), query))] : [];
  const heading = title ? [make("span", { class: "title" }, ...marked(title, query)), " "] : [];
  return make("div", { class: "snippet" }, ...heading, ...marked(text.slice(0, end), query), ...rest);
}

/** What a hit matches: terms, or tokens of the query and the most similar ones of the document, and what each adds. */
function showMatches(found) {
  const shown = found?.filter(([, , adds]) => Math.abs(adds) >= 0.005) ?? []; // the others would read 0.00
  if (!shown.length) return [];
  const items = shown.map(([asked, there, adds]) => make("span", { class: "match" }, asked === there ? asked : `${asked} → ${there || "(special token)"}`, " ", make("span", { class: "score" }, fixed(adds, 2))));
  return [make("div", { class: "matches" }, "Matches: ", ...items)];
}

function showHits(query, system) {
  const items = query.hits[system].map(({ doc_id, score, grade }, i) => make("li", null,
    make("span", { class: "rank" }, `${i + 1}`),
    make("span", null, make("span", { class: "id" }, doc_id), " ", showGrade(grade)),
    make("span", { class: "score" }, fixed(score, 4)),
    showText(doc_id, query),
    ...showMatches(matches[system]?.queries[query.id]?.[doc_id])));
  const title = `${system}: ${inspection.measure} ${fixed(query.values[system], 4)}`;
  const list = items.length ? make("ol", { class: "hits" }, ...items) : make("p", { class: "about" }, "Nothing was retrieved.");
  return make("div", null, make("h4", null, title), list);
}

function showJudged(query) {
  const items = query.judged.map(({ doc_id, grade, ranks }) => {
    const places = inspection.systems.map((system) => make("span", { class: "place" }, `${system} ${ranks[system] ?? "–"}`));
    return make("li", null, make("span", null, make("span", { class: "id" }, doc_id), " ", showGrade(grade)),
      make("span", { class: "about" }, "ranks: ", ...places), showText(doc_id, query));
  });
  const part = items.length < query.judged_total ? `${count(items.length)} of ` : "";
  const title = `${part}${count(query.judged_total)} judged document${query.judged_total === 1 ? "" : "s"}`;
  const explained = make("p", { class: "about" }, "The highest grade first, with the rank in the run of each system; –: not retrieved. Words with a term of the query, as BM25 reads both, are marked.");
  return [make("h4", null, title), explained, make("ol", { class: "hits judged" }, ...items)];
}

function showDetail(query) {
  const depth = `The top ${inspection.depth} documents of each system`;
  const hits = inspection.systems.map((system) => showHits(query, system));
  const known = inspection.systems.some((system) => matches[system]);
  const explained = "Matches are the terms that a sparse system weighs in both texts, or the tokens of the document that are most similar to those of the query, with what each adds to the score.";
  const about = known ? [make("p", { class: "about" }, explained)] : [];
  return make("div", { class: "detail" }, ...showJudged(query), make("h4", null, depth), ...about, make("div", { class: "systems" }, ...hits));
}

function showQuery(query) {
  const scores = inspection.systems.map((system) => {
    const bar = make("span", { class: "bar" });
    bar.style.setProperty("--share", query.values[system]);
    return make("span", { class: "of" }, make("span", { class: "system", title: system }, system), " ", fixed(query.values[system], 4), " ", bar);
  });
  const about = make("span", { class: "about" }, make("span", { class: "id" }, query.id), ` · ${count(query.relevant)} relevant `);
  const text = make("span", { class: "text" }, make("span", { class: "words" }, query.text), about);
  const item = make("details", { class: "query" }, make("summary", null, text, make("span", { class: "scores" }, ...scores)));
  item.addEventListener("toggle", () => item.append(showDetail(query)), { once: true });
  return item;
}

let waiting = []; // queries that are found and not yet on the page

function showMore() {
  find("queries").append(...waiting.splice(0, BATCH).map(showQuery));
  find("more").hidden = waiting.length === 0;
}

/** Put the queries that are searched for on the page in their order, one of them before all others. */
function showQueries(first = null) {
  const by = Object.values(orders()).flat()[Number(find("order").value)][1];
  const words = find("search").value.toLowerCase().split(/\s+/).filter(Boolean);
  const matches = (query) => words.every((word) => (query.searched ??= searched(query)).includes(word));
  waiting = inspection.queries.filter(matches).sort((a, b) => (b.id === first) - (a.id === first) || by(a) - by(b));
  find("found").textContent = `${count(waiting.length)} of ${count(inspection.queries.length)} queries found`;
  find("queries").replaceChildren();
  find("queries").classList.toggle("few", inspection.systems.length <= FEW);
  showMore();
}

/** Fill the choice of orders, and keep the chosen one. */
function showOrders() {
  const order = find("order"), chosen = Math.max(order.selectedIndex, 0);
  order.replaceChildren();
  let number = 0;
  for (const [label, entries] of Object.entries(orders())) {
    fillSelect(order, entries.map(([name]) => [number++, name]), make("optgroup", { label }));
  }
  order.selectedIndex = Math.min(chosen, number - 1);
}

function showInspector() {
  find("inspector").hidden = inspection === null;
  if (inspection === null) return;
  const { shown, of, how } = inspection.sample;
  find("sample").textContent = shown < of ? `${count(shown)} of ${count(of)} queries are shown: ${how}.` : `All ${count(of)} queries are shown.`;
  showOrders();
  showQueries();
}

async function showDataset() {
  const chosen = index.datasets[Number(find("choice").value)];
  const found = await inspectionOf(chosen.name);
  const matched = await matchesOf(found?.systems ?? [], chosen.name);
  const outdated = chosen !== index.datasets[Number(find("choice").value)];
  if (outdated || chosen === dataset) return; // another was chosen meanwhile, or this one twice
  [dataset, inspection, matches] = [chosen, found, matched];
  const counts = Object.entries(dataset.counts).map(([name, value]) => `${count(value)} ${name}`).join(" · ");
  const forums = dataset.forums ? ` The mean of ${dataset.forums.length} forums; choose one of them for its queries.` : "";
  find("about").replaceChildren(make("p", null, `Split ${dataset.split}: ${counts}.${forums}`));
  showMeasures();
  showLengths();
  showInspector();
  markBeyond();
  await showPair();
}

/** Show the query that the address of the page names, `#query=<corpus>/<id>`, if it is among those that are here. */
async function followAddress() {
  const named = location.hash.match(/^#query=([^/]+)\/(.+)$/);
  const number = index.datasets.findIndex(({ name }) => encodeURIComponent(name) === named?.[1]);
  if (number < 0) return;
  find("choice").value = number;
  await showDataset();
  const wanted = inspection?.queries.find(({ id }) => encodeURIComponent(id) === named[2]);
  if (!wanted) return;
  find("search").value = "";
  showQueries(wanted.id);
  const query = find("queries").firstElementChild;
  query.open = true;
  query.querySelector("summary").focus();
  query.scrollIntoView();
}

/** Let the dataset in the header of a row be chosen there. */
function linkRows(table) {
  for (const header of table.querySelectorAll('tbody th[scope="row"]')) {
    const number = index.datasets.findIndex(({ name }) => name === header.textContent);
    if (number < 0) continue;
    const link = make("a", { href: "#dataset" }, header.textContent);
    link.addEventListener("click", () => { find("choice").value = number; showDataset(); });
    header.replaceChildren(link);
  }
}

function start() {
  document.querySelectorAll("#datasets table").forEach(linkRows);
  fillSelect(find("choice"), index.datasets.map(({ name }, i) => [i, name]));
  const kinds = new Set(Object.keys(index.datasets[0].measures[index.systems[0]]).map((name) => name.split("@")[0]));
  fillSelect(find("measure"), [["", "all"], ...[...kinds].map((kind) => [kind, kind])]);
  find("choice").addEventListener("change", showDataset);
  find("measure").addEventListener("change", showMeasures);
  find("order").addEventListener("change", () => showQueries());
  find("search").addEventListener("input", () => showQueries());
  find("more").addEventListener("click", showMore);
  window.addEventListener("hashchange", followAddress);
  find("measure").value = index.measure;
  startPair();
  showDataset().then(followAddress);
}

start();
