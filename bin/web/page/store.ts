/** What the page knows: rows by topic, kept up to date by a stream. */
import { batch, computed, type ReadonlySignal, type Signal, signal } from "@preact/signals";
import { setPerson } from "../../../protocol/names.ts";
import type { ViewState } from "../views/state.ts";
import { keyOf, type Rows, type StreamLine, type Topic, topics, type Viewer } from "../wire.ts";

/** What the browser keeps of its right to read the page, in this tab alone. */
export interface Pass {
  readonly token: string;
  /** Where the page's programs are. */
  readonly folder: string;
}

interface Looked {
  readonly at: number;
  readonly rows: ReadonlyMap<string, unknown>;
}

const retryMs = 1_000;
const nobody: Viewer = { isPerson: false, project: null, here: null, home: "", user: "" };

export class Store {
  readonly viewer = signal<Viewer>(nobody);
  readonly version = signal("");
  readonly away = signal<string | null>(null);
  /** The server does not know this tab any more. */
  readonly isOver = signal(false);
  readonly nowMs = signal(Date.now());
  readonly #looked = Object.fromEntries(topics.map(topic => [topic, signal<Looked | null>(null)])) as Record<
    Topic,
    Signal<Looked | null>
  >;
  readonly #pass: Pass;
  #stop = new AbortController();

  constructor(pass: Pass) {
    this.#pass = pass;
    setInterval(() => {
      this.nowMs.value = Date.now();
    }, 1_000);
  }

  /** The projects of all sessions. */
  readonly projects = computed(() => {
    const sessions = (this.#looked.sessions.value?.rows.values() ?? []) as Iterable<Rows["sessions"]>;
    return [...new Set([...sessions].map(({ project }) => project))];
  });

  /** What views show of the project; null: all projects. */
  state(project: ReadonlySignal<string | null>): ReadonlySignal<ViewState> {
    return computed(() => {
      const shown = project.value;
      const rows = <T extends Topic>(topic: T): readonly Rows[T][] | null => {
        const looked = this.#looked[topic].value;
        if (looked === null) return null;
        const all = [...looked.rows.values()] as Rows[T][];
        return shown === null ? all : all.filter(row => !("project" in row) || row.project === shown);
      };
      return {
        viewer: this.viewer.value,
        version: this.version.value,
        away: this.away.value,
        nowMs: this.nowMs.value,
        project: shown,
        rows,
        lookedAt: topic => this.#looked[topic].value?.at ?? 0,
      };
    });
  }

  /** Follows these topics instead of those before. */
  follow(wanted: readonly Topic[]): void {
    this.#stop.abort();
    this.#stop = new AbortController();
    void this.#follow(wanted, this.#stop.signal);
  }

  /** Fetches an answer of the server. Throws its refusal. */
  async fetch<T>(name: string, query: Readonly<Record<string, string>>): Promise<T> {
    return this.#answer(await this.#get(`/api/${name}?${new URLSearchParams(query)}`));
  }

  async post<T>(name: string, body: unknown): Promise<T> {
    const headers = { ...this.#headers, "Content-Type": "application/json" };
    return this.#answer(await fetch(`/api/${name}`, { method: "POST", headers, body: JSON.stringify(body) }));
  }

  async #answer<T>(answer: Response): Promise<T> {
    if (answer.status === 404) this.isOver.value = true;
    if (answer.status === 413) throw new Error("this is longer than the page can send; shorten it");
    const body = answer.status === 404 ? {} : await answer.json();
    if (answer.ok) return body;
    throw new Error(typeof body.error === "string" ? body.error : `the server answered ${answer.status}`);
  }

  get #headers() {
    return { Authorization: `Bearer ${this.#pass.token}` };
  }

  #get(path: string, until?: AbortSignal): Promise<Response> {
    return fetch(path, { headers: this.#headers, ...(until === undefined ? {} : { signal: until }) });
  }

  async #follow(wanted: readonly Topic[], until: AbortSignal): Promise<void> {
    while (!until.aborted) {
      try {
        const answer = await this.#get(`/api/live?topics=${wanted.join(",")}`, until);
        if (answer.status === 404) {
          this.isOver.value = true;
          return;
        }
        if (!answer.ok || answer.body === null) throw new Error(`the server answered ${answer.status}`);
        await this.#read(answer.body);
        if (!until.aborted) this.away.value = "kite web has ended; start it again";
      } catch {
        if (until.aborted) return;
        this.away.value = "kite web does not answer; start it again";
      }
      await new Promise(resolve => setTimeout(resolve, retryMs));
    }
  }

  async #read(body: ReadableStream<Uint8Array>): Promise<void> {
    const reader = body
      .pipeThrough(new TextDecoderStream() as TransformStream<Uint8Array, string>)
      .getReader();
    let rest = "";
    for (;;) {
      const { done, value = "" } = await reader.read();
      if (done) return;
      const lines = (rest + value).split("\n");
      rest = lines.pop() ?? "";
      batch(() => {
        for (const line of lines) if (line !== "") this.#take(JSON.parse(line));
      });
    }
  }

  #take(line: StreamLine): void {
    if (line.kind === "hello") {
      this.viewer.value = line.viewer;
      setPerson(line.viewer.user);
      if (line.version !== "") this.version.value = line.version;
      this.away.value = null;
    } else if (line.kind === "away") this.away.value = line.why;
    else if (line.kind === "back") {
      this.version.value = line.version;
      this.away.value = null;
    } else {
      const { topic, at, set, gone, isWhole } = line;
      const rows = new Map(isWhole ? [] : this.#looked[topic].value?.rows);
      for (const key of gone) rows.delete(key);
      for (const row of set) rows.set(keyOf[topic](row as never), row);
      this.#looked[topic].value = { at, rows };
    }
  }
}
