/** What kite_status shows an agent that leads: one screen of text. */
import { homedir } from "node:os";
import { frame, quote } from "../../../protocol/text.ts";
import type { OwnScreen } from "../../mcp/tools-look.ts";
import { rowsOf } from "../../with-daemon.ts";
import { LastLooks, leadData } from "../screen/look.ts";
import { isLead } from "../screen/team.ts";
import { leadView } from "../view/lead.ts";

const columns = 100;

const lastLooks = new LastLooks();

/** Shows an agent that leads what is new since its last look; null: the caller does not lead. */
export const leadScreen: OwnScreen = async ({ client, acting }, sessions, unread) => {
  const { id, agent, name, project } = acting;
  const spawns = await rowsOf(client, "spawns", { project });
  if (!isLead(sessions, spawns, acting)) return null;
  const now = Date.now();
  const reader = { id, agent };
  const data = await leadData(client, project, reader, lastLooks.next(reader, now));
  const lines = leadView(data, { width: columns, color: false, now, home: homedir() });
  const mail = unread === 0 ? [] : [`Unread messages: ${unread}.`];
  const text = [`You are ${quote(name)}, and lead.`, frame, ...lines, ...mail].join("\n");
  return { text, data: { you: name, project, note: frame, screen: lines, unreadMessages: unread } };
};
