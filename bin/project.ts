import { GitFacts } from "../daemon/facts-git.ts";

/** The project of directory `cwd`, as the daemon would find it; the directory itself where it cannot be looked at. */
export async function projectOf(cwd: string): Promise<string> {
  const found = await new GitFacts().repositoryOf(cwd);
  return "unreachable" in found ? cwd : found.project;
}
