/** Returns the text of `/metrics`. */
export async function metricsText(port: number): Promise<string> {
  return await (await fetch(`http://127.0.0.1:${port}/metrics`)).text();
}

/** Returns every series name of `/metrics`, with the labels of the series. */
export async function scrapeMetrics(port: number): Promise<Map<string, Set<string>>> {
  const text = await metricsText(port);
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

/** Returns the metric families of `/metrics`, with their help texts. */
export async function metricFamilies(port: number): Promise<Map<string, string>> {
  const text = await metricsText(port);
  return new Map([...text.matchAll(/^# HELP (\w+) (.*)$/gm)].map(([, name = '', help = '']) => [name, help]));
}
