#include "draw/svg.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>

#include "draw/words.h"

namespace strata::pictures {
namespace {

/// A rule of the style sheet: class, property, its value on light pages and on dark ones.
struct Rule {
  const char *name, *property, *light, *dark;
};

// Red belongs to fill-in, grey to values, and so no level has them.
constexpr Rule rules[] = {
    {"page", "fill", "#ffffff", "#0f141a"},
    {"page", "stroke", "#d7dce2", "#2c343d"},
    // texts
    {"ink", "fill", "#1d2228", "#e8edf2"},
    {"muted", "fill", "#66707b", "#94a0ac"},
    // slots: background and frame; the text in them
    {"value", "fill", "#dde2e8", "#3b4550"},
    {"zero", "fill", "#f4f6f8", "#1b222a"},
    {"zero", "stroke", "#99a3ae", "#6b7682"},
    {"fill-in", "fill", "#fce4e1", "#4d1f1d"},
    {"fill-in-text", "fill", "#c2281b", "#ff9d94"},
    {"absent", "fill", "#f3f5f7", "#171d24"},
    {"outside", "stroke", "#b9c1ca", "#46505b"},
    {"frame", "stroke", "#99a3ae", "#6b7682"},
    {"hair", "stroke", "#d7dce2", "#2c343d"},
    {"on-colour", "fill", "#14181d", "#14181d"},
    {"pos", "fill", "#ffffff", "#0f141a"},
    // levels: cells, lines and frames, texts
    {"l0", "fill", "#dbe9fd", "#182f4f"},
    {"l1", "fill", "#d3f1e0", "#123829"},
    {"l2", "fill", "#fcebc6", "#403010"},
    {"l3", "fill", "#eae2fd", "#2f2552"},
    {"l4", "fill", "#d0f0f4", "#0f3840"},
    {"l5", "fill", "#fadfee", "#451b34"},
    {"l6", "fill", "#e6eec4", "#2c3510"},
    {"l7", "fill", "#e0e4f4", "#242b47"},
    {"k0", "stroke", "#3f83ea", "#5ba4f5"},
    {"k1", "stroke", "#22a06a", "#43b886"},
    {"k2", "stroke", "#cb8d16", "#dcaa48"},
    {"k3", "stroke", "#8b62f0", "#a98ff5"},
    {"k4", "stroke", "#1499aa", "#45c1d0"},
    {"k5", "stroke", "#d14a93", "#ec7db7"},
    {"k6", "stroke", "#809b22", "#abc346"},
    {"k7", "stroke", "#6676b8", "#93a2e0"},
    {"t0", "fill", "#1d50a8", "#a6cbff"},
    {"t1", "fill", "#12653f", "#8fe0b7"},
    {"t2", "fill", "#7d5405", "#f3d08e"},
    {"t3", "fill", "#5a2fb8", "#d2c2ff"},
    {"t4", "fill", "#0a5c67", "#96e3ed"},
    {"t5", "fill", "#8c2460", "#f8b5d6"},
    {"t6", "fill", "#4c5e0d", "#d6e590"},
    {"t7", "fill", "#37457f", "#c2cdf6"},
    // density, from few to many
    {"d1", "stroke", "#93bde6", "#24527f"},
    {"d2", "stroke", "#649fd8", "#2f6ca8"},
    {"d3", "stroke", "#3c80c4", "#4288cc"},
    {"d4", "stroke", "#2263a6", "#66a5e2"},
    {"d5", "stroke", "#124681", "#97c6f2"},
    {"d6", "stroke", "#082c57", "#d6eaff"},
};

/// What is the same on every page. A class of one of these prefixes has its properties.
constexpr struct {
  const char *name, *properties;
} shapes[] = {
    {"title", "font-weight:600;font-size:16px"},
    {"small", "font-size:11px"},
    {"bold", "font-weight:600"},
    {"mid", "text-anchor:middle"},
    {"end", "text-anchor:end"},
    {"zero", "stroke-width:1;stroke-dasharray:2.5 2"},
    {"outside", "fill:none;stroke-width:1;stroke-dasharray:2.5 2"},
    {"frame", "fill:none;stroke-width:1.25"},
    {"hair", "fill:none;stroke-width:1"},
    {"page", "stroke-width:1"},
    {"ghost", "fill:none;stroke-width:1;stroke-dasharray:2.5 2"},
    {"pos", "stroke-width:1.25"},
    {"edge", "fill:none;stroke-width:1.25;stroke-opacity:.75"},
    {"fence", "fill:none;stroke-width:1;stroke-dasharray:1.5 2.5"},
    {"bar", "fill:none;stroke-width:4;stroke-linecap:round"},
    {"ribbon", "fill:none;stroke-width:2.5;stroke-opacity:.9"},
    {"dots", "fill:none;stroke-width:1;shape-rendering:crispEdges"},
};

/// A colour of the ramp as one face of a cube has it: darker on its sides.
std::string shaded(const char* colour, double light) {
  const long rgb = std::strtol(colour + 1, nullptr, 16);
  char text[8];
  std::snprintf(text, sizeof text, "#%02lx%02lx%02lx", std::lround(static_cast<double>(rgb >> 16) * light),
                std::lround(static_cast<double>(rgb >> 8 & 255) * light),
                std::lround(static_cast<double>(rgb & 255) * light));
  return text;
}

}  // namespace

std::string number(double x) {
  char text[32];
  std::snprintf(text, sizeof text, "%.2f", std::abs(x) < 0.005 ? 0.0 : x);
  std::string s = text;
  while (s.back() == '0') s.pop_back();
  if (s.back() == '.') s.pop_back();
  return s;
}

std::string escaped(std::string_view text) {
  std::string out;
  for (const char c : text) {
    switch (c) {
      case '&': out += "&amp;"; break;
      case '<': out += "&lt;"; break;
      case '>': out += "&gt;"; break;
      case '"': out += "&quot;"; break;
      default: out += static_cast<unsigned char>(c) < 0x20 ? ' ' : c;
    }
  }
  return out;
}

std::string level_class(int level) { return "l" + std::to_string(level % level_colours); }

void Svg::use(std::string_view classes) {
  while (!classes.empty()) {
    const std::size_t end = std::min(classes.find(' '), classes.size());
    if (end > 0) used_.emplace(classes.substr(0, end));
    classes.remove_prefix(std::min(end + 1, classes.size()));
  }
}

void Svg::rect(double x, double y, double w, double h, std::string_view classes, double radius, std::string_view more) {
  use(classes);
  body_ +=
      "<rect x=\"" + number(x) + "\" y=\"" + number(y) + "\" width=\"" + number(w) + "\" height=\"" + number(h) + "\"";
  if (radius > 0) body_ += " rx=\"" + number(radius) + "\"";
  body_ += " class=\"" + std::string(classes) + "\"" + std::string(more) + "/>";
}

void Svg::line(double x1, double y1, double x2, double y2, std::string_view classes) {
  path("M" + number(x1) + " " + number(y1) + "L" + number(x2) + " " + number(y2), classes);
}

void Svg::path(std::string_view d, std::string_view classes, std::string_view more) {
  use(classes);
  body_ += "<path d=\"" + std::string(d) + "\" class=\"" + std::string(classes) + "\"" + std::string(more) + "/>";
}

void Svg::text(double x, double y, std::string_view words, std::string_view classes) {
  use(classes);
  body_ += "<text x=\"" + number(x) + "\" y=\"" + number(y) + "\" class=\"" + std::string(classes) + "\">" +
           escaped(words) + "</text>";
}

void Svg::open(std::string_view attributes, std::string_view title) {
  body_ += std::string("\n<g") + (attributes.empty() ? "" : " ") + std::string(attributes) + ">";
  if (!title.empty()) body_ += "<title>" + escaped(title) + "</title>";
}

void Svg::close() { body_ += "</g>"; }

void Svg::cell(double x, double y, double w, double h, std::string_view words, std::string_view classes,
               std::string_view attributes, std::string_view title, std::string_view more) {
  const std::size_t bar = classes.find('|');  // of the rectangle | of the text
  open(attributes, title);
  rect(x, y, w, h, classes.substr(0, bar), 3, more);
  if (!words.empty()) text(x + w / 2, y + h / 2 + 4.5, words, "mid " + std::string(classes.substr(bar + 1)));
  close();
}

std::string Svg::finish(double width, double height, std::string_view words, Theme theme) const {
  constexpr double margin = 18;
  const double w = std::ceil(width) + 2 * margin, h = std::ceil(height) + 2 * margin;
  const std::string root = theme == Theme::automatic ? "strata-auto"
                           : theme == Theme::light   ? "strata-light"
                                                     : "strata-dark";
  std::string sheet = "." + root +
                      "{font-family:ui-monospace,\"SF Mono\",\"Cascadia Mono\",Menlo,\"DejaVu Sans Mono\",Consolas,"
                      "\"Liberation Mono\",monospace;font-size:13px}\n";
  const auto is_used = [&](std::string_view name) { return name == "page" || used_.contains(name); };
  for (const auto& s : shapes)
    if (is_used(s.name)) sheet += "." + root + " ." + s.name + "{" + s.properties + "}\n";
  const auto colours = [&](bool dark, const char* indent) {
    std::string out;
    for (const Rule& r : rules) {
      const char* value = dark ? r.dark : r.light;
      if (is_used(r.name)) out += indent + ("." + root) + " ." + r.name + "{" + r.property + ":" + value + "}\n";
      if (r.name[0] != 'd') continue;
      // Swatches, and the three faces of a cube.
      constexpr std::pair<char, double> faces[] = {{'s', 1.0}, {'a', 1.0}, {'b', 0.8}, {'c', 0.62}};
      for (const auto& [face, light] : faces)
        if (is_used(std::string(r.name) + face)) {
          const std::string colour = shaded(value, light);
          out += indent + ("." + root) + " ." + r.name + face + "{fill:" + colour;
          if (face != 's') out += ";stroke-width:.4;stroke-linejoin:round;stroke:" + colour;
          out += "}\n";
        }
    }
    return out;
  };
  sheet += colours(theme == Theme::dark, "");
  if (theme == Theme::automatic) sheet += "@media (prefers-color-scheme:dark){\n" + colours(true, "  ") + "}\n";
  // (CairoSVG draws nothing at all where a height is "auto": the fixed themes, which are for such, go without.)
  return "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"" + root + "\" width=\"" + number(w) + "\" height=\"" +
         number(h) + "\" viewBox=\"0 0 " + number(w) + " " + number(h) + "\" role=\"img\"" +
         (theme == Theme::automatic ? " style=\"max-width:100%;height:auto\"" : "") + ">\n<title>" + escaped(words) +
         "</title>\n<style>\n" + sheet + "</style>\n<rect x=\"0.5\" y=\"0.5\" width=\"" + number(w - 1) +
         "\" height=\"" + number(h - 1) + "\" rx=\"8\" class=\"page\"/>\n<g transform=\"translate(" + number(margin) +
         " " + number(margin) + ")\">" + body_ + "</g>\n</svg>\n";
}

double svg_heading(Svg& svg, const Tensor& t, double& width) {
  const std::string name = t.format().name();
  double y = 14;
  const std::string title = cut(name_or_text(t.format()), 110);
  svg.text(0, y, title, "title ink");
  width = std::max(width, 9.8 * columns(title));
  for (int k = 0; k < t.num_parts() && (!name.empty() || t.num_parts() > 1); ++k) {
    const std::string text = cut((k ? "+ " : "") + t.part(k).format.to_string(), 140);
    svg.text(0, y += k ? 17 : 20, text, "muted");
    width = std::max(width, char_width * columns(text));
  }
  const std::string facts = facts_line(t);
  svg.text(0, y += 19, facts, "ink");
  width = std::max(width, char_width * columns(facts));
  return y + 16;
}

void Legend::add(std::string_view classes, std::string_view words, std::string_view more) {
  svg_.rect(x_, y_, 14, 14, classes, 3, more);
  svg_.text(x_ + 20, y_ + 11, words, "muted small");
  x_ += 20 + small_width * columns(words) + 18;
}

}  // namespace strata::pictures
