// Threads, futures, containers, algorithms, regular expressions, files and exceptions.
#include <algorithm>
#include <atomic>
#include <filesystem>
#include <fstream>
#include <future>
#include <iostream>
#include <map>
#include <memory>
#include <mutex>
#include <numeric>
#include <regex>
#include <sstream>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

static long sum_of(const std::vector<int> &numbers, std::size_t from, std::size_t to)
{
	return std::accumulate(numbers.begin() + from, numbers.begin() + to, 0L);
}

static void threads()
{
	std::vector<int> numbers(100000);
	std::iota(numbers.begin(), numbers.end(), 1);
	std::vector<std::future<long>> parts;
	for (std::size_t i = 0; i < 4; i++) {
		parts.push_back(std::async(std::launch::async, sum_of, std::cref(numbers), i * 25000,
					   (i + 1) * 25000));
	}
	long total = 0;
	for (auto &part : parts) {
		total += part.get();
	}
	std::atomic<int> count{0};
	std::vector<std::thread> workers;
	for (int i = 0; i < 4; i++) {
		workers.emplace_back([&count] {
			for (int k = 0; k < 1000; k++) {
				count++;
			}
		});
	}
	for (auto &worker : workers) {
		worker.join();
	}
	std::cout << "threads " << total << ' ' << count << '\n';
}

static void files()
{
	namespace fs = std::filesystem;
	fs::create_directories("out");
	{
		std::ofstream file("out/text.txt");
		file << "the quick fox\nthe lazy dog\nthe end\n";
	}
	std::map<std::string, int> words;
	std::ifstream file("out/text.txt");
	for (std::string word; file >> word;) {
		words[word]++;
	}
	for (const auto &[word, times] : words) {
		std::cout << word << '=' << times << ' ';
	}
	std::cout << "bytes=" << fs::file_size("out/text.txt") << '\n';
}

int main()
{
	threads();
	files();
	std::smatch match;
	std::string text = "released 2024-05-17";
	if (std::regex_search(text, match, std::regex(R"((\d+)-(\d+)-(\d+))"))) {
		std::cout << "regex " << match[1] << '/' << match[2] << '/' << match[3] << '\n';
	}
	try {
		throw std::runtime_error("thrown");
	} catch (const std::exception &error) {
		std::cout << "caught " << error.what() << std::endl;
	}
	auto shared = std::make_shared<std::ostringstream>();
	*shared << std::hex << 48879;
	std::cout << "stream " << shared->str() << '\n';
}
