/** What a writing tool sent: the whole file, as far as the event has it or says how it was made. */
import { limits } from "../../../protocol/limits.ts";
import { type Event, within } from "../../plans/event.ts";
import type { SentText } from "../../seam/sent-text.ts";

/** Returns the text of a write that succeeded; null: the event does not have it. */
export function sentText({ tool, raw }: Event): SentText | null {
  const [input, response] = [raw["tool_input"], raw["tool_response"]];
  if (within(response, "userModified") === true) return null;
  if (tool === "Write") return whole(within(input, "content"));
  if (tool === "NotebookEdit") return whole(within(response, "updated_file"));
  if (tool !== "Edit") return null;
  const before = within(response, "originalFile");
  const [old, next] = [within(response, "oldString"), within(response, "newString")];
  if (typeof before !== "string" || typeof old !== "string" || typeof next !== "string") return null;
  const isAll = within(response, "replaceAll") === true;
  return { chars: before.length + next.length, text: () => replaced(before, old, next, isAll) };
}

function whole(text: unknown): SentText | null {
  return typeof text === "string" ? { chars: text.length, text: () => text } : null;
}

/** Null: the tool found its text by another spelling than this one. */
function replaced(before: string, old: string, next: string, isAll: boolean): string | null {
  // The tool makes a file that way.
  if (old === "") return before === "" ? next : null;
  const at = before.indexOf(old);
  if (at === -1) return null;
  if (isAll) return replacedAll(before, old, next);
  return before.slice(0, at) + next + before.slice(at + old.length);
}

/** Null: the text would be longer than what is kept. */
function replacedAll(before: string, old: string, next: string): string | null {
  const pieces: string[] = [];
  let [from, chars] = [0, before.length];
  for (let at = before.indexOf(old); at !== -1; at = before.indexOf(old, from)) {
    chars += next.length - old.length;
    if (chars > limits.rescueFileBytes || pieces.length > limits.rescueReplacedMax) return null;
    pieces.push(before.slice(from, at), next);
    from = at + old.length;
  }
  return pieces.join("") + before.slice(from);
}
