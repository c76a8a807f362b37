/** The page in the browser: the menu, the view of the address, and what a person asks of it. */
import { computed, type Signal, signal } from "@preact/signals";
import { render } from "preact";
import { views } from "../views/list.ts";
import type { About } from "../views/state.ts";
import { clean } from "../views/state.ts";
import type { Deed, DeedReply } from "../wire.ts";
import { Dialog, type DialogState, Frame, type Refusal } from "./frame.tsx";
import { type Pass, Store } from "./store.ts";

/** Begins the page of this tab. */
export function start(pass: Pass): void {
  const root = document.getElementById("page");
  if (root === null) return;
  document.title = "Kite";
  const store = new Store(pass);
  const { place, go, ask } = address();
  const dialog = signal<DialogState>(null);
  const view = computed(() => views.find(({ path }) => path === place.value.path) ?? views[0]);
  const project = computed(() => store.viewer.value.project ?? place.value.query["project"] ?? null);
  const state = store.state(project);
  const { askAndAct, write } = deedsOf(store, dialog);
  const page = computed(() => {
    const { isPerson } = store.viewer.value;
    return {
      query: place.value.query,
      ask,
      act: isPerson ? askAndAct : null,
      write: isPerson ? (of: (text: string) => Deed, question: string) => write(of, question) : null,
      explain: (about: About) => void explain(store, dialog, about, project.value),
      fetch: <T,>(name: string, query: Readonly<Record<string, string>>) => store.fetch<T>(name, query),
    };
  });
  let followed = "";
  const App = () => {
    const { topics, Body } = view.value;
    // The frame shows the projects of all sessions, and notices.
    const wanted = [...new Set([...topics, "sessions" as const, "notices" as const])].sort();
    if (wanted.join() !== followed) {
      followed = wanted.join();
      store.follow(wanted);
    }
    return (
      <>
        <Frame store={store} state={state.value} view={view.value} query={place.value.query} go={go}>
          <Body state={state.value} page={page.value} />
        </Frame>
        <Dialog
          state={dialog.value}
          close={() => {
            dialog.value = null;
          }}
        />
      </>
    );
  };
  render(<App />, root);
}

/** Returns the place that the address names, and the ways to change it. */
function address() {
  const place = signal(placeHere());
  addEventListener("popstate", () => {
    place.value = placeHere();
  });
  return {
    place,
    go: (path: string, query: Readonly<Record<string, string>>) => {
      history.pushState(null, "", `/${path}${addressOf(query)}`);
      place.value = placeHere();
    },
    ask: (change: Readonly<Record<string, string | null>>) => {
      const query: Record<string, string> = { ...place.value.query };
      for (const [name, word] of Object.entries(change)) {
        if (word === null) delete query[name];
        else query[name] = word;
      }
      history.replaceState(null, "", `/${place.value.path}${addressOf(query)}`);
      place.value = placeHere();
    },
  };
}

/** Returns how a person's deeds are done: after a question, or with a text that they write. */
function deedsOf(store: Store, dialog: Signal<DialogState>) {
  const post = async (deed: Deed) => {
    // A second press would do it twice.
    dialog.value = null;
    return store.post<DeedReply>("do", deed).catch((error: Error) => ({ ok: false, text: error.message }));
  };
  const act = async (deed: Deed, done: () => void = () => {}) => {
    const reply = await post(deed);
    if (reply.ok) done();
    dialog.value = { kind: "said", title: reply.ok ? "Done" : "Refused", text: reply.text };
  };
  const askAndAct = (deed: Deed, question: string, done?: () => void) => {
    dialog.value = { kind: "ask", question, yes: () => void act(deed, done) };
  };
  const write = (of: (text: string) => Deed, question: string, before?: Refusal) => {
    const send = async (text: string) => {
      const reply = await post(of(text));
      if (reply.ok) dialog.value = { kind: "said", title: "Done", text: reply.text };
      else write(of, question, { text, refusal: reply.text });
    };
    const yes = (text: string) => void send(text);
    dialog.value = { kind: "write", question, yes, ...(before === undefined ? {} : { before }) };
  };
  return { askAndAct, write };
}

/** Shows what `kite explain` says; `project`: the one that is shown, null for all. */
async function explain(
  store: Store,
  dialog: Signal<DialogState>,
  { kind, name, project: within, title = name }: About,
  project: string | null,
): Promise<void> {
  const where = within ?? project;
  const reply = await store
    .fetch<DeedReply>("explain", { kind, name, ...(where === null ? {} : { project: where }) })
    .catch((error: Error) => ({ ok: false, text: error.message }));
  dialog.value = { kind: "said", title: clean(title), text: reply.text };
}

interface Place {
  readonly path: string;
  readonly query: Readonly<Record<string, string>>;
}

function placeHere(): Place {
  return {
    path: location.pathname.slice(1),
    query: Object.fromEntries(new URLSearchParams(location.search)),
  };
}

function addressOf(query: Readonly<Record<string, string>>): string {
  const text = new URLSearchParams(query).toString();
  return text === "" ? "" : `?${text}`;
}
