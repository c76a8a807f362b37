/** Messages between agents and with the person, freezes, and what agents share. */
import { counted } from "../../view/text.ts";
import { Freezes } from "./messages/freezes.tsx";
import { ThreadItem } from "./messages/thread.tsx";
import { hasText, threadsOf } from "./messages/threads.ts";
import { Values } from "./messages/values.tsx";
import { Write } from "./messages/write.tsx";
import { Empty, Loading, Section } from "./parts.tsx";
import type { View, ViewProps } from "./view.ts";

export const messages: View = {
  path: "messages",
  title: "Messages",
  topics: ["messages", "holds", "context", "sessions"],
  Body: Messages,
};

function Messages(props: ViewProps) {
  const { state, page } = props;
  if (messages.topics.some(topic => state.rows(topic) === null)) return <Loading />;
  return (
    <>
      {page === null ? null : (
        <search class="filters">
          <input
            type="search"
            aria-label="Text"
            placeholder="text, agent or key"
            value={page.query["text"] ?? ""}
            onInput={event => page.ask({ text: event.currentTarget.value || null })}
          />
        </search>
      )}
      <Threads {...props} />
      <Freezes {...props} />
      <Values {...props} />
    </>
  );
}

/** Threads in the page before a person asks for more, and by how many they grow. */
const threadsMax = 50;

function Threads({ state, page }: ViewProps) {
  const rows = state.rows("messages") ?? [];
  const text = page?.query["text"] ?? "";
  const threads = threadsOf(rows).filter(thread => text === "" || hasText(thread, text));
  const max = Math.max(threadsMax, Number(page?.query["threads"]) || 0);
  const shown = threads.slice(0, max);
  const write = page?.write ?? null;
  return (
    <Section title="Threads" count={threads.length}>
      {write === null ? null : <Write write={write} sessions={state.rows("sessions") ?? []} />}
      {rows.length === 0 ? (
        <Empty
          says="No inbox has a message: agents write to each other. To write to one:"
          command='kite message send alice "the schema is done"'
        />
      ) : (
        <ul class="threads">
          {shown.map(thread => (
            <ThreadItem key={`${thread.project} ${thread.id}`} state={state} page={page} thread={thread} />
          ))}
        </ul>
      )}
      {threads.length === shown.length ? null : (
        <p>
          {counted(threads.length - shown.length, "older thread")}{" "}
          {page === null ? null : (
            <button type="button" onClick={() => page.ask({ threads: `${max + threadsMax}` })}>
              Show more
            </button>
          )}
        </p>
      )}
    </Section>
  );
}
