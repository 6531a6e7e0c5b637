"use strict";
// The page only shows: whatever is drawn, counted or generated on it comes from the library, at once (the server of
// `strata explore`) or from a recording that the page brings with it.
(() => {
  const start = JSON.parse(document.getElementById("start").textContent);
  const $ = (id) => document.getElementById(id);
  const recorded = start.recorded !== null;

  // ---- asking ------------------------------------------------------------------------------------------------------

  let recording = null;
  async function unpack(text) {
    const bytes = Uint8Array.from(atob(text), (c) => c.charCodeAt(0));
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
    return JSON.parse(await new Response(stream).text());
  }

  async function post(name, query) {
    const headers = { "Content-Type": "application/json" };
    const answer = await fetch(name, { method: "POST", headers, body: JSON.stringify(query) }).catch(() => {
      throw new Error("strata explore does not answer: has it ended? Start it again, and open the address that it prints.");
    });
    const found = await answer.json();
    if (found.error) throw new Error(found.error.message);
    return found;
  }

  async function ask(query) {
    if (!recorded) return post("explore", query);
    const format = recording[query.format];
    const out = { format };
    if (!format.error && query.matrix) out.tensor = format.tensors[matrix.name];
    if (!format.error && query.expression) out.code = format.codes[query.expression];
    return out;
  }

  const trouble = (text) => {
    $("trouble").textContent = text || "";
    $("trouble").hidden = !text;
  };

  // ---- what the page holds -----------------------------------------------------------------------------------------

  // cells: "i,j" -> the text of a stored element.
  const matrix = { name: "", rows: 0, columns: 0, cells: new Map() };
  let seed = 0;
  let tab = "loops";
  let texts = {}; // of the tabs

  function take(given, name) {
    matrix.name = name;
    matrix.rows = given.rows;
    matrix.columns = given.columns;
    matrix.cells = new Map(given.cells.map(([i, j, text]) => [`${i},${j}`, text]));
  }

  const asJson = () => ({
    rows: matrix.rows,
    columns: matrix.columns,
    cells: [...matrix.cells].map(([at, text]) => [...at.split(",").map(Number), text]),
  });

  // The address holds all of it, so that a reload, or a link into a recording, comes back to the same.
  function remember() {
    const state = new URLSearchParams({ format: $("format").value, expression: $("expression").value });
    if (recorded || start.matrices.some((m) => m.matrix && m.name === matrix.name)) state.set("matrix", matrix.name);
    else state.set("cells", [`${matrix.rows}x${matrix.columns}`, ...[...matrix.cells].map(([at, t]) => `${at},${encodeURIComponent(t)}`)].join(";"));
    if ($("dtype").value !== start.dtypes[0]) state.set("dtype", $("dtype").value);
    history.replaceState(null, "", "#" + state);
  }

  function unescaped(text) {
    try {
      return decodeURIComponent(text);
    } catch {
      return text; // somebody wrote the address by hand
    }
  }

  function recall() {
    const state = new URLSearchParams(location.hash.slice(1));
    const named = start.matrices.find((m) => m.matrix && m.name === state.get("matrix"));
    take(start.matrix, start.matrices[0].name);
    if (named) take(named.matrix, named.name);
    const cells = state.get("cells");
    const shape = !recorded && cells && /^(\d\d?)x(\d\d?)(;\d\d?,\d\d?,[\w.%+-]{1,99})*$/.exec(cells);
    if (shape && Math.max(shape[1], shape[2]) <= start.largest) {
      const parts = cells.split(";").slice(1).map((c) => c.split(","));
      const inside = parts.filter(([i, j]) => +i < +shape[1] && +j < +shape[2]).map(([i, j, t]) => [+i, +j, unescaped(t)]);
      take({ rows: +shape[1], columns: +shape[2], cells: inside }, "");
    }
    const known = (id, value) => value && [...$(id).options].some((o) => o.value === value) && ($(id).value = value);
    known("expression", state.get("expression"));
    if (!recorded) known("dtype", state.get("dtype"));
    const format = state.get("format");
    $("format").value = format !== null && (!recorded || Object.hasOwn(recording, format)) ? format : start.format;
  }

  // ---- small tools -------------------------------------------------------------------------------------------------

  function element(tag, properties = {}, ...children) {
    const e = Object.assign(document.createElement(tag), properties);
    e.append(...children);
    return e;
  }

  /** An error as the library prints it, and a button for its remedy where that can be written. */
  function wrong(error, mend) {
    const box = element("div", { className: "wrong" });
    const [what, ...lines] = error.message.split("\n");
    box.append(element("div", { className: "what" }, what));
    const parts = lines.findIndex((line) => /^  (expected|got|fix) /.test(line));
    const place = lines.splice(0, parts < 0 ? lines.length : parts).map((line) => line.replace(/^ {4}/, ""));
    const caret = place.length > 1 ? element("span", { className: "caret" }, place.pop()) : "";
    if (place.length) box.append(element("div", { className: "place" }, place.join("\n"), "\n", caret));
    for (const line of lines) box.append(element("div", { className: "part" }, line));
    if (error.mended && mend) {
      box.append(element("button", { type: "button", onclick: () => mend(error.mended) }, error.fix));
    }
    return box;
  }

  // ---- the format --------------------------------------------------------------------------------------------------

  function mark(error) {
    const text = $("format").value;
    const where = error && error.where;
    const marks = $("marks");
    marks.replaceChildren(where ? text.slice(0, where[0]) : text);
    if (where) {
      const end = where[0] >= text.length || where[0] === where[1];
      marks.append(element("mark", { className: end ? "end" : "" }, text.slice(where[0], where[1])), text.slice(where[1]));
    }
    marks.append("\u200b"); // a last empty line has a height too
    $("format").setAttribute("aria-invalid", String(Boolean(error)));
  }

  function levels(format) {
    const box = element("div", { className: "levels" });
    format.parts.forEach((part, k) => {
      const line = element("div");
      line.append(k ? "+ " : "", part.name ? element("b", {}, part.name) : "");
      box.append(line);
      part.levels.forEach((level, n) => {
        const chip = element("span", { className: "level" }, level);
        chip.style.background = `var(--l${n % 8})`;
        chip.style.color = `var(--t${n % 8})`;
        line.append(chip);
      });
    });
    return box;
  }

  function showFormat(format) {
    mark(format.error);
    const mend = (text) => setFormat(text, true);
    $("format-says").replaceChildren(format.error ? wrong(format.error, recorded ? null : mend) : levels(format));
    for (const b of $("formats").children) b.setAttribute("aria-pressed", String(b.dataset.text === $("format").value));
  }

  function setFormat(text, focus) {
    $("format").value = text;
    mark(null);
    if (focus) $("format").focus();
    changed("format", 0);
  }

  // ---- the matrix --------------------------------------------------------------------------------------------------

  const cellAt = (i, j) => $("grid").querySelector(`input[data-at="${i},${j}"]`);

  function look(input) {
    const text = matrix.cells.get(input.dataset.at);
    input.classList.toggle("stored", text !== undefined && !/^[-+]?0*\.?0*$/.test(text));
    input.classList.toggle("zero", text !== undefined && /^[-+]?0*\.?0*$/.test(text));
    input.classList.remove("bad");
    input.title = text !== undefined && text.length > 4 ? text : "";
  }

  function showGrid() {
    const { rows, columns } = matrix;
    $("rows").value = rows;
    $("columns").value = columns;
    for (const b of $("matrices").children) b.setAttribute("aria-pressed", String(b.dataset.name === matrix.name));
    if (!rows || !columns) {
      $("grid").replaceChildren(element("p", { className: "none" }, `${rows} × ${columns}: no elements`));
      return;
    }
    const table = element("table", { className: columns > 12 ? "many" : "" });
    table.style.setProperty("--columns", columns);
    table.append(element("caption", { className: "away" }, "The elements of the matrix"));
    const head = table.createTHead().insertRow();
    head.append(element("td"));
    for (let j = 0; j < columns; ++j) head.append(element("th", { scope: "col" }, String(j)));
    const body = table.createTBody();
    for (let i = 0; i < rows; ++i) {
      const row = body.insertRow();
      row.append(element("th", { scope: "row" }, String(i)));
      for (let j = 0; j < columns; ++j) {
        const input = element("input", { value: matrix.cells.get(`${i},${j}`) ?? "", autocomplete: "off", spellcheck: false, maxLength: 32 });
        input.dataset.at = `${i},${j}`;
        input.tabIndex = i || j ? -1 : 0;
        input.readOnly = recorded;
        input.setAttribute("aria-label", `row ${i}, column ${j}`);
        look(input);
        row.insertCell().append(input);
      }
    }
    $("grid").replaceChildren(table);
  }

  function setCell(input, text) {
    matrix.name = "";
    for (const b of $("matrices").children) b.setAttribute("aria-pressed", "false");
    if (text.trim()) matrix.cells.set(input.dataset.at, text.trim());
    else matrix.cells.delete(input.dataset.at);
    look(input);
    changed("matrix", 60);
  }

  function toggle(input) {
    input.value = matrix.cells.has(input.dataset.at) ? "" : "1";
    setCell(input, input.value);
    input.select();
  }

  $("grid").addEventListener("input", (e) => setCell(e.target, e.target.value));
  $("grid").addEventListener("dblclick", (e) => e.target.matches("input:read-write") && toggle(e.target));
  $("grid").addEventListener("focusin", (e) => {
    if (!e.target.matches("input")) return;
    for (const other of $("grid").querySelectorAll('input[tabindex="0"]')) other.tabIndex = -1;
    e.target.tabIndex = 0; // Tab comes back to where it left
    e.target.select();
    light(e.target.dataset.at);
  });
  $("grid").addEventListener("focusout", () => light(null));
  $("grid").addEventListener("keydown", (e) => {
    if (!e.target.matches("input") || e.altKey || e.ctrlKey || e.metaKey) return;
    const [i, j] = e.target.dataset.at.split(",").map(Number);
    const { value, selectionStart: from, selectionEnd: to } = e.target;
    const all = from === 0 && to === value.length;
    const moves = {
      ArrowUp: [i - 1, j],
      ArrowDown: [i + 1, j],
      Enter: [i + (e.shiftKey ? -1 : 1), j],
      ArrowLeft: all || to === 0 ? [i, j - 1] : null,
      ArrowRight: all || from === value.length ? [i, j + 1] : null,
      Home: all ? [i, 0] : null,
      End: all ? [i, matrix.columns - 1] : null,
    };
    if (moves[e.key]) {
      e.preventDefault();
      cellAt(...moves[e.key])?.focus();
    } else if (e.key === " " && !e.target.readOnly) {
      e.preventDefault();
      toggle(e.target);
    }
  });

  async function preset(offer) {
    let given = offer.matrix;
    if (!given) {
      const size = { rows: clamp($("rows")) || 8, columns: clamp($("columns")) || 8 };
      try {
        given = (await post("matrix", { preset: offer.name, ...size, seed: seed++ })).matrix;
      } catch (e) {
        trouble(e.message);
        return;
      }
    }
    take(given, offer.name);
    showGrid();
    changed("matrix", 0);
  }

  function clamp(input) {
    return Math.min(Math.max(Math.trunc(Number(input.value)) || 0, 0), start.largest);
  }

  function resize() {
    matrix.rows = clamp($("rows"));
    matrix.columns = clamp($("columns"));
    matrix.name = "";
    for (const at of [...matrix.cells.keys()]) {
      const [i, j] = at.split(",").map(Number);
      if (i >= matrix.rows || j >= matrix.columns) matrix.cells.delete(at);
    }
    showGrid();
    changed("matrix", 0);
  }

  // ---- what comes of it --------------------------------------------------------------------------------------------

  function picture(id, svg) {
    const drawn = document.importNode(new DOMParser().parseFromString(svg, "image/svg+xml").documentElement, true);
    // Without the margin that it has as a file; and never made smaller than can be read.
    const [width, height] = [drawn.getAttribute("width") - 26, drawn.getAttribute("height") - 26];
    for (const [name, value] of Object.entries({ width, height, viewBox: `16 12 ${width} ${height}` })) drawn.setAttribute(name, value);
    drawn.style.minWidth = `${0.8 * width}px`;
    // Which element a slot holds stands in its title.
    for (const title of drawn.querySelectorAll("g > title")) {
      const at = /(?:^|at )\((\d+), (\d+)\)/.exec(title.textContent);
      if (at) title.parentElement.dataset.at = `${at[1]},${at[2]}`;
    }
    $(id).replaceChildren(drawn);
  }

  /** The same element in the matrix, in both pictures. */
  function light(at) {
    for (const e of document.querySelectorAll(".lit")) e.classList.remove("lit");
    if (at) for (const e of document.querySelectorAll(`[data-at="${at}"]`)) e.classList.add("lit");
  }
  for (const id of ["storage", "elements"]) {
    $(id).addEventListener("pointerover", (e) => light(e.target.closest("[data-at]")?.dataset.at));
    $(id).addEventListener("pointerleave", () => light(null));
  }

  function bytes(rows) {
    const most = Math.max(...rows.map((r) => r.total), 1);
    const dense = rows.find((r) => r.name === "dense").total;
    $("bytes").replaceChildren(
      ...rows.flatMap((r, k) => {
        const bar = element("div", { className: "bar", ariaHidden: "true" });
        for (const part of ["pos", "crd", "values"]) {
          const piece = element("i", { className: part, title: `${part} ${r[part]} bytes` });
          piece.style.width = `${(100 * r[part]) / most}%`;
          bar.append(piece);
        }
        const share = dense && r.name !== "dense" ? `${((100 * r.total) / dense).toFixed(0)} % of dense` : "";
        return [
          element("span", { className: k ? "name" : "name this", title: r.name }, r.name),
          bar,
          element("span", { className: "total" }, `${r.total.toLocaleString("en").replace(/,/g, "\u202f")}`, element("small", {}, share)),
        ];
      }),
    );
  }

  const stale = (ids, on) => ids.forEach((id) => $(id).classList.toggle("stale", on));

  function showTensor(tensor) {
    stale(["storage", "elements", "arrays", "bytes"], Boolean(tensor.error));
    $("tensor-says").replaceChildren(...(tensor.error ? [wrong(tensor.error)] : []));
    if (tensor.error) {
      if (tensor.error.cell) cellAt(...tensor.error.cell)?.classList.add("bad");
      return;
    }
    picture("storage", tensor.storage);
    picture("elements", tensor.elements);
    bytes(tensor.bytes);
    $("arrays").textContent = tensor.text.replace(/^-+ (.*)/, "$1").replace(/\n-+$/, "");
    texts.python = tensor.python;
    showText();
  }

  const tabs = { loops: "Loop IR", c: "C", schedule: "Schedule", plan: "Plan", python: "Python" };

  function showCode(code) {
    stale(["panel"], Boolean(code.error));
    $("code-says").replaceChildren(...(code.error ? [wrong(code.error)] : []));
    if (code.error) return;
    const none = "No loops are generated: a hand-written kernel serves. Plan says which, and why.";
    Object.assign(texts, { loops: code.loops || none, c: code.c || none, schedule: code.schedule, plan: code.plan });
    $("command").textContent = code.command;
    showText();
  }

  const token = new RegExp(
    [
      /(?<comment>\/\*[\s\S]*?\*\/|^#[^\n]*|^---[^\n]*)/,
      /(?<word>\b(?:for|while|if|else|let|var|function|out|return|by|prefetch|static|inline|const|restrict|typedef|import|as|print)\b)/,
      /(?<type>\b(?:void|char|double|float|int|long|short|unsigned|signed|[iuf](?:8|16|32|64)(?:x\d+)?|packed\d+|bool)\b)/,
      /(?<number>\b\d+(?:\.\d*)?(?:[eE][-+]?\d+)?(?:_[iuf]\d+(?:x\d+)?)?)/,
    ]
      .map((r) => r.source)
      .join("|"),
    "gm",
  );

  function showText() {
    const text = texts[tab] ?? "";
    const pre = $("text");
    pre.replaceChildren();
    if (tab === "plan" || tab === "schedule") {
      pre.append(text);
      return;
    }
    let done = 0;
    for (const m of text.matchAll(token)) {
      const kind = Object.keys(m.groups).find((k) => m.groups[k] !== undefined);
      pre.append(text.slice(done, m.index), element("span", { className: kind }, m[0]));
      done = m.index + m[0].length;
    }
    pre.append(text.slice(done));
  }

  function choose(name, focus) {
    tab = name;
    for (const b of document.querySelectorAll('[role="tab"]')) {
      const on = b.dataset.name === name;
      b.setAttribute("aria-selected", String(on));
      b.tabIndex = on ? 0 : -1;
      if (on && focus) b.focus();
      if (on) $("panel").setAttribute("aria-labelledby", b.id);
    }
    showText();
  }

  // ---- from a change to what is shown ------------------------------------------------------------------------------

  const pending = new Set(); // since the last question
  const unanswered = new Set(); // what that one, and those that it overtook, are about
  let timer = 0;
  let asked = 0;

  function changed(what, wait) {
    pending.add(what);
    clearTimeout(timer);
    timer = setTimeout(update, wait);
  }

  async function update() {
    const number = ++asked;
    for (const what of pending) unanswered.add(what);
    pending.clear();
    const all = unanswered.has("format");
    const query = { format: $("format").value, dtype: $("dtype").value };
    if (all || unanswered.has("matrix")) query.matrix = asJson();
    if (all || unanswered.has("expression")) query.expression = $("expression").value;
    remember();
    let answer, failure;
    try {
      answer = await ask(query);
    } catch (e) {
      failure = e.message;
    }
    if (number !== asked) return; // a later one is on its way, and asks for this too
    trouble(failure);
    if (failure) return;
    unanswered.clear();
    showFormat(answer.format);
    if (answer.format.error) stale(["storage", "elements", "arrays", "bytes", "panel"], true);
    if (answer.tensor) showTensor(answer.tensor);
    if (answer.code) showCode(answer.code);
    document.body.dataset.shown = String(number); // what drives the page can wait for it
  }

  // ---- at the beginning --------------------------------------------------------------------------------------------

  function build() {
    $("formats").append(
      ...start.formats.map(({ text, title }) => {
        const b = element("button", { type: "button", title, onclick: () => setFormat(text) }, text);
        b.dataset.text = text;
        return b;
      }),
    );
    $("matrices").append(
      ...start.matrices.map((offer) => {
        const b = element("button", { type: "button", title: offer.title, onclick: () => preset(offer) }, offer.name);
        b.dataset.name = offer.name;
        return b;
      }),
    );
    $("dtype").append(...start.dtypes.map((d) => element("option", { value: d }, d)));
    $("expression").append(
      ...Object.entries(start.expressions).map(([e, title]) => element("option", { value: e }, `${e}    ${title}`)),
    );
    const list = document.querySelector('[role="tablist"]');
    for (const [name, title] of Object.entries(tabs)) {
      const b = element("button", { type: "button", id: `tab-${name}`, onclick: () => choose(name) }, title);
      b.setAttribute("role", "tab");
      b.setAttribute("aria-controls", "panel");
      b.dataset.name = name;
      list.append(b);
    }
    list.addEventListener("keydown", (e) => {
      const names = Object.keys(tabs);
      const step = { ArrowRight: 1, ArrowLeft: -1 }[e.key];
      if (step) choose(names[(names.indexOf(tab) + step + names.length) % names.length], true);
    });
    $("format").addEventListener("input", () => {
      mark(null);
      changed("format", 120);
    });
    $("expression").addEventListener("change", () => changed("expression", 0));
    $("dtype").addEventListener("change", () => changed("format", 0));
    for (const id of ["rows", "columns"]) $(id).addEventListener("change", resize);
    $("copy").addEventListener("click", async () => {
      try {
        await navigator.clipboard.writeText(texts[tab] ?? "");
        $("copy").textContent = "Copied";
      } catch {
        getSelection().selectAllChildren($("text"));
      }
      setTimeout(() => ($("copy").textContent = "Copy"), 1200);
    });
    if (recorded) {
      $("about").replaceChildren("A recording: choose among formats and matrices. ", element("code", {}, "strata explore"), " takes any.");
      for (const id of ["format", "rows", "columns"]) $(id).readOnly = true;
      $("dtype").disabled = true;
      $("grid-hint").hidden = true;
    }
  }

  async function begin() {
    build();
    choose(tab);
    try {
      if (recorded) recording = await unpack(start.recorded);
    } catch {
      trouble("This browser cannot unpack the recording (it lacks DecompressionStream).");
      return;
    }
    recall();
    mark(null);
    showGrid();
    changed("format", 0);
  }
  begin();
})();
