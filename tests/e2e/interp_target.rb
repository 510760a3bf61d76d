# SPDX-License-Identifier: Apache-2.0
# A program for Ruby 3.1 and newer whose threads stop in known places. It then tells, as JSON on standard output,
# the stacks that it sees itself, and stays until its standard input ends.
def stop
  sleep
end

module Some
  class Base
    def run(n) = step(n)

    def step(n)
      yields do |x|
        [x].each do |y|
          { y => 1 }.map { |k, v| send(:private_one) }
        end
      end
    end

    def yields
      yield 1
    end

    def self.made
      new.run(1)
    end

    private

    def private_one
      lambda { proc { stop }.call }.call
    end
  end

  class Derived < Base
    def run(n)
      super
    ensure
      n += 1
    end

    def method_missing(name, *args)
      run(*args)
    end

    define_method(:defined) { |x| missing(x) }
  end
end

def rescued
  raise "x"
rescue
  begin
    stop
  ensure
    1
  end
end

def deep(n)
  if n.zero?
    stop
  else
    deep(
      n - 1
    )
  end
end

# One line a number, so that the table of lines has more than its first positions and blocks.
eval("def long(n)\n" + (0...400).map { |i| "  stop if n == #{i}\n" }.join + "end\n", nil, "/made/l\u00f6ng.rb", 7)

jobs = [
  -> { stop }, -> { Some::Base.made }, -> { Some::Derived.new.defined(1) }, -> { rescued },
  -> { deep(1500) }, -> { [2, 1].sort_by { |x| stop } }, -> { 3.times { |i| stop } },
  -> { Fiber.new { stop }.resume }, -> { instance_eval("stop", "/made/eval.rb", 70) },
  -> { Class.new { stop } }, -> { Enumerator.new { |y| stop }.next },
  *[0, 1, 2, 3, 5, 8, 13, 21, 34, 55, 89, 144, 233, 377, 399].map { |i| -> { long(i) } },
]
threads = jobs.map { |job| Thread.new { job.call } }
sleep 0.01 until threads.all? { |t| t.status == "sleep" && t.backtrace_locations.size > 1 }

told = threads.map do |t|
  frames = t.backtrace_locations.map do |l|
    "{\"function\":#{l.label.inspect},\"file\":#{l.path.to_s.inspect},\"line\":#{l.lineno.to_i}}"
  end
  "{\"tid\":#{t.native_thread_id},\"frames\":[#{frames.join(",")}]}"
end
puts "{\"pid\":#{Process.pid},\"version\":#{RUBY_VERSION.inspect},\"threads\":[#{told.join(",")}]}"
$stdout.flush
$stdin.read
