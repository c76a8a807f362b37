/** What the changelog says of versions that are newer than another one. */
import { isOlder } from "../version.ts";

/** Returns the sections of versions after `old`, each with its heading; none if there are none. */
export function changesSince(changelog: string, old: string): readonly string[] {
  const sections = changelog.split(/^(?=## )/m).filter(text => text.startsWith("## "));
  return sections
    .filter(text => isOlder(old, /^## (\S+)/.exec(text)?.[1] ?? old))
    .map(text => text.trim().slice("## ".length));
}
