/** How the shared log's picture of a session differs from what its own node's log has. */

import { roleOf } from "../../../daemon/core/lead/roles.ts";
import { nodeOf } from "../../../daemon/core/nodes/shared-ids.ts";
import { sharedIdOf } from "../../../daemon/core/outbox/publish.ts";
import type { State } from "../../../daemon/core/state.ts";
import {
  type Declaration,
  type DeclaredFile,
  declarationsOf,
} from "../../../daemon/core/tables/declarations.ts";
import { noteKey } from "../../../daemon/core/tables/messages.ts";
import type { Session } from "../../../daemon/core/tables/sessions.ts";
import { declarationPart } from "../../../daemon/core/work/declared-elsewhere.ts";

/** Returns the roles of the session's agents as text. */
export function rolesOf(state: State, { id: session, agents }: Session): string {
  const all = [null, ...[...agents.keys()].sort()];
  return all.map(agent => Object.values(roleOf(state, { session, agent })).join(" by ")).join(", ");
}

/** Yields how a session differs in the shared log from what its own node's log has. */
export function* differences(own: Session, shared: Session, node: string): Generator<string> {
  const { id, name } = shared;
  if (!name.startsWith(`${own.name}@${node}`)) yield `${id} is ${own.name}, and shared as ${name}`;
  if (own.lostAt === null && shared.lostAt !== null) yield `${id} is there, and lost in the shared log`;
  // A power cut may take back what its own log knew.
  if (own.client !== undefined && own.client !== shared.client)
    yield `${id} is of ${own.client}, and shared as of ${shared.client}`;
  const [agents, others] = [own, shared].map(one => [...one.agents.keys()].sort().join(" "));
  if (agents !== others) yield `${id} has the agents ${agents}, and in the shared log ${others}`;
}

/** Yields how what a session's agents declared differs in the shared log; only the first terminal's id has it there. */
export function* undeclared(own: State, session: Session, shared: State, id: string): Generator<string> {
  const [first] = session.incarnations;
  const isFirst = first !== undefined && sharedIdOf(own.outbox, session.id, first.begun) === id;
  const agents = isFirst ? [...declarationPart.agentsWith(own, session.id)] : [];
  const is = agents.flatMap(agent => {
    const told = declarationPart.tell(own, session.id, agent);
    return told === null ? [] : [declaredText(agent, told as unknown as Declaration)];
  });
  const known = declarationsOf(shared.declarations, id).map(one => declaredText(one.agent, one));
  const [here, there] = [is, known].map(texts => texts.sort().join(", "));
  if (here !== there) yield `${id} declared ${here}, and in the shared log ${there}`;
}

function declaredText(agent: string | null, { task, role, project, updatedAt, files }: Declaration): string {
  const paths = files.map(({ path, dir, will, touched }) => [path, dir, will, touched].join(" ")).sort();
  return [agent, project, role, task, updatedAt, ...paths].join("; ");
}

/** Yields each notice of an overlap that is over, or was none: it waits in the shared log, and nobody has read it. */
export function* overlapsOver({ declarations, notes }: State): Generator<string> {
  const all = [...declarations.live.values()];
  for (const { session, agent, notes: waiting } of notes.pending.values()) {
    const mine = declarations.live.get(noteKey({ session, agent }));
    for (const { note } of waiting) {
      if (note.what !== "overlap") continue;
      const { file, other: name } = note;
      const isThere = all.some(
        ({ name: its, session: id, project, files }) =>
          its === name &&
          project === mine?.project &&
          nodeOf(id) !== nodeOf(session) &&
          files.some(one => one.path === file && mine.files.some(own => overlaps(one, own))),
      );
      if (!isThere) yield `${session} is told that ${name} declared ${file}`;
    }
  }
}

type Place = Pick<DeclaredFile, "path" | "dir">;

function overlaps(a: Place, b: Place): boolean {
  return a.path === b.path || isIn(a, b) || isIn(b, a);
}

function isIn(file: Place, { path, dir }: Place): boolean {
  return dir && file.path.startsWith(`${path}/`);
}
