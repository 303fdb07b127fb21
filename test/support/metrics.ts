/** What a `/metrics` page holds: every series name, with the labels that were seen on it. */
export async function scrapeMetrics(port: number): Promise<Map<string, Set<string>>> {
  const text = await (await fetch(`http://127.0.0.1:${port}/metrics`)).text();
  const series = new Map<string, Set<string>>();
  for (const line of text.split('\n')) {
    const [, name, labels = ''] = /^([a-z_]\w*)(?:\{(.*)\})? /i.exec(line) ?? [];
    if (name === undefined) continue;
    const seen = series.get(name) ?? new Set();
    for (const [, label = ''] of labels.matchAll(/(\w+)="/g)) seen.add(label);
    series.set(name, seen);
  }
  return series;
}

/** The families of a `/metrics` page, with the help of each. */
export async function metricFamilies(port: number): Promise<Map<string, string>> {
  const text = await (await fetch(`http://127.0.0.1:${port}/metrics`)).text();
  return new Map([...text.matchAll(/^# HELP (\w+) (.*)$/gm)].map(([, name = '', help = '']) => [name, help]));
}
