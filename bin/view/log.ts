/** Lines of the trail as text. */
import type { TrailLine } from "../../daemon/trail/line.ts";
import { paint, type Style } from "./color.ts";
import { projectRoot, tilde } from "./places.ts";
import { clean, clock, duration, pad, type Screen, wrap } from "./text.ts";

const styles: Readonly<Record<TrailLine["decision"], Style>> = {
  allow: "green",
  deny: "red",
  wait: "blue",
  note: "dim",
  event: "dim",
};

/** The log omits shorter times, in milliseconds: every answer takes that long. */
const shownMs = 100;
/** Column at which a wrapped line continues. */
const indent = 10;

/** Returns one decision as lines: time, decision, session and reason. */
export function logLines(line: TrailLine, screen: Screen): string[] {
  const who = clean(line.name ?? line.id?.slice(0, 8) ?? "-");
  const agent = line.agent === null || who.includes("/") ? "" : `/${clean(line.agent).slice(0, 8)}`;
  const what = whatOf(line);
  const why = [line.code, line.why].filter(part => part !== undefined).join(": ");
  const parts = [
    pad(`${who}${agent}`, 16),
    pad(clean(what), 12),
    line.file === null ? "" : fileOf(line, screen.home),
    why === "" ? "" : clean(why),
    line.ms !== undefined && line.ms >= shownMs ? `after ${duration(line.ms)}` : "",
  ];
  const at = clock(line.at, screen.now);
  const text = `${at}  ${pad(line.decision, 5)}  ${parts.filter(part => part !== "").join("  ")}`;
  const [first = "", ...rest] = wrap(text.trimEnd(), screen.width, indent);
  const painted = first.replace(
    `  ${line.decision}`,
    `  ${paint(screen, styles[line.decision], line.decision)}`,
  );
  return [painted, ...rest];
}

/** Returns the git command if there is one, because it says more than the hook's event. */
function whatOf({ event, type }: TrailLine): string {
  if (type === null || type === event) return event;
  return type.startsWith("git ") ? type : `${event} ${type}`;
}

function fileOf(line: TrailLine, home: string): string {
  const file = line.file ?? "";
  const root = line.project === null ? "" : `${projectRoot(line.project)}/`;
  const inside = root !== "/" && root !== "" && file.startsWith(root) ? file.slice(root.length) : file;
  return clean(tilde(inside, home));
}
