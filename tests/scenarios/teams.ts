/** Teams in a transcript: sessions that are teammates of another one. */
import type { State } from "../../daemon/core/state.ts";

/** Who leads whom, and what a lead is to be told of teammates that are gone. */
export function shownTeams({ sessions, members, notes }: State): string[] {
  const led = [...sessions.live.values()].flatMap(({ id, name }) => {
    const all = [...(members.get(id) ?? [])].map(
      ([called, { session, gone }]) => `${called} (${gone?.how ?? session})`,
    );
    return all.length === 0 ? [] : [`${name} leads ${all.join(", ")}`];
  });
  const told = [...notes.pending.values()].flatMap(({ session, notes: all }) =>
    all.flatMap(({ note }) =>
      note.what === "teammate_gone" ? [`to tell ${session}: ${note.other} of ${note.team} ${note.how}`] : [],
    ),
  );
  const lines = [...led, ...told];
  return lines.length === 0 ? ["nobody leads"] : lines;
}
