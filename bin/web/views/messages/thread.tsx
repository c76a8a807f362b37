/** The messages of a thread, whole. */
import { useState } from "preact/hooks";
import { personsNode } from "../../../../protocol/names.ts";
import type { PostedRow } from "../../../../protocol/schemas/message.ts";
import { duration } from "../../../../protocol/text.ts";
import { counted } from "../../../view/text.ts";
import { Agent } from "../parts.tsx";
import { clean, cleanLines, projectName } from "../state.ts";
import type { ViewProps } from "../view.ts";
import type { Thread } from "./threads.ts";

/** Messages of a thread before a person asks for the earlier ones. */
const lastMax = 10;

interface ThreadProps extends ViewProps {
  readonly thread: Thread;
}

export function ThreadItem({ state, page, thread }: ThreadProps) {
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
