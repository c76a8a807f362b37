/** What is said of a merge that came back, as long as nobody who has to know has read so. */
import type { UnreadReturn } from "../../../protocol/lead/team.ts";
import { shellArgument } from "../../../protocol/text.ts";
import { clean } from "../../view/text.ts";

/** Returns who has not read it, and what to do. `isSpawned`: Kite can open that agent in this terminal. */
export function unreadText(unread: UnreadReturn, isSpawned: boolean): string {
  if (unread.state === "gone")
    return "nobody is there to read that it came back: have it mended on its branch (kite spawn), and merge it again";
  const name = clean(unread.who.name);
  const not = `${name} has not read that its merge came back`;
  if (unread.state === "woken") return `${not}; Kite has told it`;
  if (unread.state === "active") return `${not}; it works, and reads it with its next step`;
  const where = isSpawned ? `kite agents attach ${clean(shellArgument(unread.who.name))}` : "its terminal";
  return `${not}; it is idle, and goes on only when prompted: type a word to it in ${where}`;
}
