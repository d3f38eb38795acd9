# Threads, processes, blocks, files, JSON, hashes and other parts of the standard library.
require "csv"
require "date"
require "digest"
require "erb"
require "etc"
require "fileutils"
require "json"
require "open3"
require "set"
require "stringio"
require "tempfile"
require "time"
require "yaml"
require "zlib"

Point = Struct.new(:x, :y) do
  def +(other) = Point.new(x + other.x, y + other.y)
end

queue = Queue.new
sums = 4.times.map do |i|
  Thread.new { queue << (i * 100...(i + 1) * 100).sum }
end
sums.each(&:join)
puts "threads #{4.times.map { queue.pop }.sum}"

reader, writer = IO.pipe
pid = fork do
  reader.close
  writer.puts "from a fork"
  exit!(3)
end
writer.close
puts "fork #{reader.read.strip}"
Process.wait(pid)
puts "status #{$?.exitstatus}"
output, status = Open3.capture2e("/bin/sh", "-c", "read line; echo got $line; exit 4", stdin_data: "hello\n")
puts "shell #{output.strip} #{status.exitstatus} #{`x="from sh"; echo $x`.strip}"

Tempfile.create("sample") do |file|
  file.puts(CSV.generate { |csv| csv << %w[name value]; csv << ["größe", 3] })
  file.rewind
  rows = CSV.parse(file.read, headers: true)
  puts "csv #{rows.first["name"]} #{rows.first["name"].length}"
end
FileUtils.mkdir_p("out")
File.write("out/data.json", JSON.generate({ "list" => [1, 2.5, nil], "ok" => true }))
puts "json #{JSON.parse(File.read("out/data.json"))}"
puts "yaml #{YAML.load("a: 1\nb: [x, y]\n")}"
packed = Zlib::Deflate.deflate("brig" * 100)
puts "zlib #{packed.bytesize < 50} #{Digest::SHA256.hexdigest(Zlib::Inflate.inflate(packed))[0, 16]}"
puts "struct #{Point.new(1, 2) + Point.new(3, 4)}"
puts "group #{%w[fig pear plum apple].group_by(&:size)}"
puts "lazy #{(1..Float::INFINITY).lazy.select(&:even?).map { _1 ** 2 }.first(4)}"
puts "date #{Date.new(2024, 2, 28) + 2} #{Time.at(0).utc.iso8601}"
puts "erb #{ERB.new("<%= 6 * 7 %>").result}"
puts "set #{Set[3, 1, 3].size} big #{2**100}"
begin
  raise ArgumentError, "wrong"
rescue => error
  puts "caught #{error.class} #{error.message}"
end
fiber = Fiber.new { 3.times { |i| Fiber.yield i }; :end }
puts "fiber #{4.times.map { fiber.resume }}"
