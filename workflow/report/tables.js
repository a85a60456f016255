"use strict";
// Elements and tables of a page: tables sort, fit and are printed whole. What stands in the data becomes text nodes and nothing else: no line here parses markup.

const find = (id) => document.getElementById(id);

/** An element; strings among the children become text. */
function make(tag, attributes, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes ?? {})) element.setAttribute(name, value);
  element.append(...children.filter((child) => child !== null));
  return element;
}

const fixed = (value, decimals) => (value == null ? "" : value.toFixed(decimals).replace("-", "−"));
const count = (value) => value.toLocaleString("en");

/** Order the rows of a table's first body by a column; a third press restores the first order. Rows without a value stay last. */
function sortBy(table, header, column) {
  const body = table.tBodies[0];
  table.originalRows ??= [...body.rows];
  const number = header.classList.contains("number");
  const directions = number ? ["descending", "ascending", "none"] : ["ascending", "descending", "none"];
  const direction = directions[(directions.indexOf(header.getAttribute("aria-sort")) + 1) % 3];
  for (const other of table.querySelectorAll("th[aria-sort]")) other.setAttribute("aria-sort", "none");
  header.setAttribute("aria-sort", direction);
  const key = (row) => (number ? row.cells[column].dataset.value : row.cells[column].textContent.trim());
  const sign = direction === "ascending" ? 1 : -1;
  const compare = (a, b) => {
    if (key(a) === "" || key(b) === "") return (key(a) === "") - (key(b) === "");
    return sign * (number ? key(a) - key(b) : key(a).localeCompare(key(b), "en", { numeric: true }));
  };
  body.append(...(direction === "none" ? table.originalRows : [...table.originalRows].sort(compare)));
}

/** Save a table as CSV, with all digits of its numbers. */
function saveTable(table) {
  const quote = (text) => (/[",\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text);
  const head = [...table.querySelectorAll('thead th[scope="col"]')].map((header) => header.textContent.trim());
  const rows = [...table.tBodies[0].rows].map((row) => [...row.cells].map((cell) => cell.dataset.value || cell.textContent.trim()));
  const text = [head, ...rows].map((cells) => `${cells.map(quote).join(",")}\n`).join("");
  const href = URL.createObjectURL(new Blob([text], { type: "text/csv" }));
  make("a", { href, download: `${table.caption.firstChild.id}.csv` }).click();
}

/** Give a table a button that saves it, and every column header one that sorts. */
function makeSortable(table) {
  const save = make("button", { type: "button", class: "csv", title: "Save this table" }, "CSV");
  save.addEventListener("click", () => saveTable(table));
  table.caption.append(save);
  const headers = table.querySelectorAll('thead th[scope="col"]');
  headers.forEach((header, column) => {
    const button = make("button", { type: "button" }, ...header.childNodes);
    header.setAttribute("aria-sort", "none");
    header.append(button);
    button.addEventListener("click", () => sortBy(table, header, column));
  });
  return table;
}

/**
 * A table in a container in which it scrolls.
 * @param columns [{label, decimals}]; a column with decimals holds numbers.
 * @param rows Cells by row: strings, numbers, null, or {value, best}.
 */
function makeTable(name, caption, columns, rows) {
  const kind = (i) => (i ? "" : "stub ") + (columns[i].decimals === undefined ? "" : "number");
  const head = columns.map((column, i) => make("th", { scope: "col", class: kind(i) }, column.label));
  const body = rows.map((cells) =>
    make("tr", null, ...cells.map((cell, i) => {
      const { value, best } = cell?.value === undefined ? { value: cell } : cell;
      const numeric = columns[i].decimals !== undefined;
      const text = numeric && value !== null ? (columns[i].decimals ? fixed(value, columns[i].decimals) : count(value)) : value ?? "";
      const mark = best ? make("span", { class: "hidden" }, " best") : null;
      const attributes = { class: kind(i) + (best ? " best" : ""), ...(numeric ? { "data-value": value ?? "" } : {}) };
      return i ? make("td", attributes, text, mark) : make("th", { scope: "row", class: kind(i) }, text);
    }))
  );
  const title = make("caption", null, make("span", { id: name }, caption));
  const table = make("table", null, title, make("thead", null, make("tr", null, ...head)), make("tbody", null, ...body));
  return make("div", { class: "scroll", role: "region", tabindex: "0", "aria-labelledby": name }, makeSortable(table));
}

const LEAST_FIT = 0.83;

/** Make the type of a table a little smaller where the font is so wide that its last columns would be out of sight. */
function fitTable(table) {
  // Step by step, since browsers may round the widths of letters to whole pixels.
  for (let fit = 1; fit > LEAST_FIT; fit -= 0.02) {
    table.style.setProperty("--fit", fit.toFixed(2));
    if (table.offsetWidth <= table.parentElement.clientWidth) return;
  }
  table.style.removeProperty("--fit"); // on a phone the table scrolls
}

const fitTables = () => document.querySelectorAll(".scroll > table.close").forEach(fitTable);

/** How wide a table is at the least, in its own em: what its type is scaled by in print, where nothing scrolls. */
function measureTable(table) {
  table.classList.add("measured");
  const ems = table.offsetWidth / parseFloat(getComputedStyle(table).fontSize);
  table.classList.remove("measured");
  if (ems) table.style.setProperty("--ems", (1.02 * ems).toFixed(2)); // a little more, for the lines between the columns
}

/** Mark the frames in which more of a table is out of sight at the right. */
function markBeyond() {
  for (const frame of document.querySelectorAll(".scroll")) {
    frame.classList.toggle("beyond", frame.scrollWidth - frame.clientWidth - frame.scrollLeft > 2);
  }
}

document.querySelectorAll("table.sortable").forEach(makeSortable);
fitTables();
markBeyond();
window.addEventListener("resize", fitTables);
window.addEventListener("resize", markBeyond);
window.addEventListener("scroll", markBeyond, { capture: true, passive: true });
document.addEventListener("toggle", markBeyond, { capture: true });
window.addEventListener("beforeprint", () => document.querySelectorAll(".scroll > table").forEach(measureTable));
