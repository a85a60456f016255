// The page of the choice: its tables sort, and are printed whole.

document.querySelectorAll("table.sortable").forEach(makeSortable);
fitTables();
markBeyond();
window.addEventListener("resize", fitTables);
window.addEventListener("resize", markBeyond);
window.addEventListener("scroll", markBeyond, { capture: true, passive: true });
window.addEventListener("beforeprint", measureTables);
