/** Messages between agents and with the person, freezes, and what agents share. */

import { useState } from "preact/hooks";
import { personsNode } from "../../../protocol/names.ts";
import type { PostedRow } from "../../../protocol/schemas/message.ts";
import type { SessionRow } from "../../../protocol/session-rows.ts";
import { duration } from "../../../protocol/text.ts";
import { counted } from "../../view/text.ts";
import { Agent, Empty, Loading, Section } from "./parts.tsx";
import { clean, cleanLines, type Page, projectName, type View, type ViewProps } from "./state.ts";
import { Freezes, Values } from "./values.tsx";

// Messages by thread, in the order in which a person wants to see them.

interface Thread {
  readonly id: string;
  readonly project: string;
  /** Oldest first. */
  readonly messages: readonly PostedRow[];
  readonly isUnread: boolean;
  /** Whether an unread message of it is urgent. */
  readonly isUrgent: boolean;
  /** When its last message was sent. */
  readonly at: number;
}

/** Returns the threads: those that somebody has not read first, of these the urgent ones, each from the newest. */
function threadsOf(messages: readonly PostedRow[]): readonly Thread[] {
  const byId = new Map<string, PostedRow[]>();
  for (const message of messages) {
    const key = `${message.project}\n${message.thread}`;
    const found = byId.get(key);
    if (found === undefined) byId.set(key, [message]);
    else found.push(message);
  }
  const threads = [...byId.values()].map(threadOf);
  return threads.sort((a, b) => urgency(a) - urgency(b) || b.at - a.at);
}

function threadOf(messages: readonly PostedRow[]): Thread {
  const sorted = [...messages].sort((a, b) => a.at - b.at);
  const unread = sorted.filter(({ to }) => to.some(({ state }) => state === "unread"));
  const [{ thread: id, project } = { thread: "", project: "" }] = sorted;
  return {
    ...{ id, project, messages: sorted },
    isUnread: unread.length > 0,
    isUrgent: unread.some(({ urgent }) => urgent),
    at: sorted.at(-1)?.at ?? 0,
  };
}

function urgency({ isUnread, isUrgent }: Thread): number {
  return isUrgent ? 0 : isUnread ? 1 : 2;
}

/** Returns whether a message has the text, or somebody of that name. */
function hasText({ messages }: Thread, text: string): boolean {
  const wanted = text.trim().toLowerCase();
  return messages.some(message =>
    [message.text, message.from?.name ?? "", ...message.to.map(({ name }) => name)].some(one =>
      one.toLowerCase().includes(wanted),
    ),
  );
}

// The messages of a thread, whole.

/** Messages of a thread before a person asks for the earlier ones. */
const lastMax = 10;

interface ThreadProps extends ViewProps {
  readonly thread: Thread;
}

function ThreadItem({ state, page, thread }: ThreadProps) {
  const [isWhole, setWhole] = useState(page === null);
  const { messages, isUnread, isUrgent } = thread;
  const shown = isWhole ? messages : messages.slice(-lastMax);
  const earlier = messages.length - shown.length;
  return (
    <li class={["thread", isUnread ? "unread" : "", isUrgent ? "urgent" : ""].join(" ").trim()}>
      {state.project === null ? (
        <p class="dim">
          <bdi>{projectName(thread.project)}</bdi>
        </p>
      ) : null}
      {earlier === 0 ? null : (
        <button type="button" onClick={() => setWhole(true)}>
          {counted(earlier, "earlier message")}
        </button>
      )}
      <ol>
        {shown.map(message => (
          <MessageItem key={`${message.id} ${message.at}`} state={state} page={page} message={message} />
        ))}
      </ol>
    </li>
  );
}

function MessageItem({ state, page, message }: ViewProps & { readonly message: PostedRow }) {
  const { from, urgent, at, text } = message;
  return (
    <li>
      <p class="who">
        {from === null ? (
          <bdi>{clean(state.viewer.user)}</bdi>
        ) : (
          <Agent name={from.name} id={from.id} agent={from.agent} page={page} />
        )}
        {" → "}
        <Recipients message={message} />
        {urgent ? <span class="tag red">urgent</span> : null}
        <span class="dim">{duration(Math.max(0, state.nowMs - at))} ago</span>
        <Answer page={page} message={message} />
      </p>
      <p class="foreign">{cleanLines(text)}</p>
    </li>
  );
}

/** Recipients that are named. */
const namedMax = 4;

function Recipients({ message: { to, broadcast } }: { readonly message: PostedRow }) {
  const read = to.filter(({ state }) => state !== "unread").length;
  if (broadcast || to.length > namedMax)
    return (
      <span>
        {broadcast ? "everyone" : counted(to.length, "agent")}{" "}
        <span class={read < to.length ? "unread-word" : "dim"}>
          ({read} of {to.length} read it)
        </span>
      </span>
    );
  return (
    <span>
      {to.map((one, n) => (
        <span key={`${one.id}/${one.agent}`}>
          {n === 0 ? "" : ", "}
          <bdi>{clean(one.name)}</bdi>{" "}
          <span class={one.state === "unread" ? "unread-word" : "dim"}>({one.state})</span>
        </span>
      ))}
    </span>
  );
}

/** The person's own words to the message's sender. */
function Answer({ page, message }: Pick<ViewProps, "page"> & { readonly message: PostedRow }) {
  const { id, from, project } = message;
  const write = page?.write ?? null;
  if (write === null || from === null || personsNode(from.id) !== null) return null;
  const name = clean(from.name);
  return (
    <button
      type="button"
      aria-label={`Answer ${name}`}
      onClick={() => write(text => ({ deed: "answer", message: id, text, project }), `Answer ${name}`)}
    >
      Answer
    </button>
  );
}

// A new message of the person, to an agent or to everyone in a project.

interface WriteProps {
  readonly write: NonNullable<Page["write"]>;
  readonly sessions: readonly SessionRow[];
}

interface Recipient {
  readonly key: string;
  /** Null: everyone. */
  readonly id: string | null;
  readonly name: string;
  readonly project: string;
}

function Write({ write, sessions }: WriteProps) {
  const [chosen, choose] = useState("");
  const projects = [...new Set(sessions.map(({ project }) => project))].sort();
  const all = projects.flatMap(project => recipientsIn(project, sessions));
  const recipient = all.find(({ key }) => key === chosen) ?? all[0];
  if (recipient === undefined) return null;
  const { id, name, project } = recipient;
  return (
    <p class="filters">
      <label>
        <span class="dim">To </span>
        <select value={recipient.key} onChange={event => choose(event.currentTarget.value)}>
          {projects.map(one => (
            <optgroup key={one} label={projectName(one)}>
              {all.flatMap(({ key, name: shown, project: of }) =>
                of === one ? (
                  <option key={key} value={key}>
                    {shown}
                  </option>
                ) : (
                  []
                ),
              )}
            </optgroup>
          ))}
        </select>
      </label>
      <button
        type="button"
        onClick={() => write(text => ({ deed: "send", to: id, text, project }), `Write to ${name}`)}
      >
        Write
      </button>
    </p>
  );
}

function recipientsIn(project: string, sessions: readonly SessionRow[]): readonly Recipient[] {
  const own = sessions.filter(one => one.project === project);
  return [
    ...own.map(({ id, name }) => ({ key: `${project}\n${id}`, id, name: clean(name), project })),
    { key: `${project}\n`, id: null, name: `everyone in ${projectName(project)}`, project },
  ];
}

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
