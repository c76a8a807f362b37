/** A person's name for a session. Invariant: an agent renames its own session alone; the name stays until a person's next. */
import { refuse } from "../../../protocol/codes.ts";
import { recipientOf } from "../messages/recipients.ts";
import type { Handler } from "../rules.ts";
import { nameKey, renameSession } from "./table.ts";

export const sessionRename: Handler<"session_rename"> = (state, command, _meta, step) => {
  const { by, of, name, project } = command;
  const { sessions } = state;
  const found = recipientOf(state, project, of, "nothing renamed");
  if ("code" in found) {
    step.reply = found;
    return;
  }
  const session = sessions.live.get(found.id);
  if (session === undefined || found.agent !== null) {
    const error = `${found.name} is an agent within a session, which its client names; rename the session`;
    step.reply = refuse("invalid_request", error);
    return;
  }
  if (by !== null && by.session !== found.id) {
    const error = `only ${found.name} itself and a person rename it; ask your user: kite rename ${found.name} ${name}`;
    step.reply = refuse("person_only", error);
    return;
  }
  const other = sessions.names.get(nameKey(project, name));
  if (other !== undefined && other !== found.id) {
    step.reply = refuse(
      "name_taken",
      `another session of the project is called ${name}; choose another name`,
      {
        name,
      },
    );
    return;
  }
  const was = session.name;
  if (was !== name) renameSession(sessions, session, project, { name, by: "person" });
  else sessions.preimages.writable(session).namedBy = "person";
  for (const { sessionChanges } of state.points) sessionChanges?.(state, session, step);
  const { id } = session;
  if (was !== name)
    step.events.push({ event: { event: "session_renamed", id, name, was, project }, about: [id], project });
  step.reply = { ok: true, id, name, was, project };
};
